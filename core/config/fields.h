// The one table in which fields of a case are declared: type, default, values, and what is built.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/config/case.h"

namespace lockstep {

// A field's value. A choice is held as the name of its value; a list of names or of reals as such.
using Value = std::
    variant<bool, std::int64_t, double, std::string, std::vector<double>, std::vector<std::string>>;

enum class FieldSection { kModel, kLayout, kRecipe, kDerived };
enum class FieldType { kBool, kInteger, kReal, kChoice, kText, kReals, kNames };

struct Field {
  std::string name;
  FieldSection section;
  FieldType type;
  Value default_value;
  std::vector<std::string> choices;  // of a choice or of the entries of a list of names
  // What of it is built: all values, or only these (as text). Others are known but refused.
  std::vector<std::string> built;  // empty: every legal value
  double smallest;                 // of a number; and the largest
  double largest;
  std::string summary;
  std::function<Value(const Case&)> get;
  std::function<void(Case&, const Value&)> set;  // none for a derived field
};

// In the order in which lists and JSON show them: model, layout, recipe, derived.
std::span<const Field> fields();

// nullptr where no field has that name.
const Field* find_field(std::string_view name);

// The known name nearest to a mistyped one, empty where none is near.
std::string nearest_name(std::string_view name, std::span<const std::string> known);

// What an error about an unknown name ends with: "; did you mean 'tp'?", or `otherwise` where no
// known name is near.
std::string did_you_mean(std::string_view name,
                         std::span<const std::string> known,
                         std::string_view otherwise = "");

// The value as the field holds it, after checking type, range and choice: an integer given for a
// real becomes one. Throws UsageError: "tp: expected an integer from 1 to 4096, got 'two'".
Value checked_value(const Field& field, const Value& value);

// What the field takes, for messages: "an integer from 1 to 4096", "one of rms, layer".
std::string expected_text(const Field& field);

// UsageError for a value that is known but not built: "sp: true is not built yet".
void check_value_built(const Field& field, const Value& value);

// The same for the first field of a whole case whose value is not built.
void check_built(const Case& c);

// Sets one field after checking type, range, choice and that it is built. Integers are accepted for
// reals. Throws UsageError. A derived field has no setter; num_micro_batches has its own, below.
void set_field(Case& c, const Field& field, const Value& value);

// global_batch = count * dp * micro_batch. UsageError where that is out of global_batch's range.
void set_num_micro_batches(Case& c, std::int64_t count);

// As YAML and JSON show it: true, 12, 0.001, uneven, [0.9, 0.999].
std::string to_text(const Value& value);

// Control characters escaped: an error that quotes the user's text stays one line.
std::string on_one_line(std::string_view text);

}  // namespace lockstep
