// A spec: the base case, the axes that vary and what is left out, as read from YAML.
//
// Everything in a Spec is checked: names, types, ranges and that it is built. Every mistake is a
// UsageError "file:line:column: what; what would be right".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/case.h"
#include "core/config/expression.h"
#include "core/config/fields.h"

namespace lockstep::matrix {

// Where something stands in the spec's text, from 1; line 0 for what is not from a text.
struct Place {
  std::size_t line = 1;
  std::size_t column = 1;
};

// A check that a spec may list.
struct KnownCheck {
  std::string name;
  bool built;
};

// `num_micro_batches` has no setter: build_case turns it into a global batch.
struct Setting {
  const Field* field;
  Value value;
  Place place;
};

struct SpecAxis {
  const Field* field;
  std::vector<Value> values;  // at least one, no two equal
  Place place;
};

struct SpecRow {
  std::vector<Setting> settings;
  Place place;
};

struct SpecCondition {
  Expression expression;
  Place place;
};

struct Sampling {
  std::int64_t count;
  std::int64_t seed;
};

struct Spec {
  std::string file;  // as errors name it
  std::string name;
  std::string preset;         // empty: the defaults of the table of fields
  std::vector<Setting> base;  // over the preset, from `model` and `recipe`
  std::vector<SpecAxis> axes;
  Place axes_place;
  std::vector<SpecCondition> where;
  std::vector<SpecRow> include;
  std::vector<SpecRow> exclude;
  std::optional<Sampling> sample;   // none: the full product
  std::vector<std::string> checks;  // empty: all that are built and apply
};

Spec load_spec(const std::string& path, std::span<const KnownCheck> checks);
// `file` is what errors call the text.
Spec parse_spec(std::string_view text, const std::string& file, std::span<const KnownCheck> checks);

// "--set KEY=VALUE": replaces the base's value, or an axis by this one value; rows of `include`
// that name the field take it too.
void override_field(Spec& spec, std::string_view assignment);

// The preset, then the base, then these settings; `num_micro_batches` last.
Case build_case(const Spec& spec, std::span<const Setting> settings);

}  // namespace lockstep::matrix
