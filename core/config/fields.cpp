// The table of fields put together, and what is checked before a value enters a case.
#include "core/config/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/errors.h"
#include "core/config/field_builders.h"

namespace lockstep {
namespace {

std::vector<Field> all_fields() {
  std::vector<Field> all = model_fields();
  for (Field& row : layout_fields()) all.push_back(std::move(row));
  for (Field& row : recipe_fields()) all.push_back(std::move(row));
  for (Field& row : derived_fields()) all.push_back(std::move(row));
  return all;
}

[[noreturn]] void refuse(const Field& field, const Value& value) {
  std::string got = to_text(value);
  const double* real = std::get_if<double>(&value);
  const bool looks_whole = got.find_first_of(".en") == std::string::npos;
  if (real != nullptr && looks_whole && field.type == FieldType::kInteger) got += ".0";
  const bool quoted = std::holds_alternative<std::string>(value);
  throw UsageError(fmt::format(
      "{}: expected {}, got {}", field.name, expected_text(field), quoted ? "'" + got + "'" : got));
}

bool in_range(const Field& field, double value) {
  return value >= field.smallest && value <= field.largest;
}

// As an integer where the field is one: the first integer above 2^53 is 2^53 as a double.
bool integer_in_range(const Field& field, std::int64_t value) {
  if (field.type != FieldType::kInteger) return in_range(field, static_cast<double>(value));
  return value >= static_cast<std::int64_t>(field.smallest) &&
         value <= static_cast<std::int64_t>(field.largest);
}

Value checked_number(const Field& field, const Value& value) {
  const std::int64_t* integer = std::get_if<std::int64_t>(&value);
  const double* real = std::get_if<double>(&value);
  if (integer != nullptr && integer_in_range(field, *integer)) {
    if (field.type == FieldType::kInteger) return value;
    return static_cast<double>(*integer);
  }
  if (real != nullptr && field.type == FieldType::kReal && in_range(field, *real)) return value;
  refuse(field, value);
}

Value checked_names(const Field& field, const Value& value) {
  const auto* names = std::get_if<std::vector<std::string>>(&value);
  if (names == nullptr) {
    const auto* reals = std::get_if<std::vector<double>>(&value);
    if (reals != nullptr && reals->empty()) return std::vector<std::string>{};
    refuse(field, value);
  }
  for (const std::string& name : *names) {
    if (std::find(field.choices.begin(), field.choices.end(), name) == field.choices.end()) {
      throw UsageError(fmt::format("{}: expected {}, got '{}'{}",
                                   field.name,
                                   expected_text(field),
                                   name,
                                   did_you_mean(name, field.choices)));
    }
    if (std::count(names->begin(), names->end(), name) > 1) {
      throw UsageError(fmt::format("{}: '{}' is named twice", field.name, name));
    }
  }
  return value;
}

Value checked_reals(const Field& field, const Value& value) {
  const auto* reals = std::get_if<std::vector<double>>(&value);
  const bool fits =
      reals != nullptr &&
      reals->size() == std::get<std::vector<double>>(field.default_value).size() &&
      std::all_of(reals->begin(), reals->end(), [&](double real) { return in_range(field, real); });
  if (!fits) refuse(field, value);
  return value;
}

Value checked_choice(const Field& field, const Value& value) {
  const auto* name = std::get_if<std::string>(&value);
  if (name == nullptr) refuse(field, value);
  if (std::find(field.choices.begin(), field.choices.end(), *name) != field.choices.end()) {
    return value;
  }
  throw UsageError(fmt::format("{}: expected {}, got '{}'{}",
                               field.name,
                               expected_text(field),
                               *name,
                               did_you_mean(*name, field.choices)));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::size_t shared_prefix(std::string_view a, std::string_view b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  std::size_t length = 0;
  while (length < shorter && a[length] == b[length]) ++length;
  return length;
}

struct ToText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<double>& values) const {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  std::string operator()(const std::vector<std::string>& values) const {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
};

}  // namespace

Field field_of_row(FieldRow row, FieldSection section, FieldType type) {
  return {.name = std::move(row.name),
          .section = section,
          .type = type,
          .default_value = std::move(row.default_value),
          .choices = std::move(row.choices),
          .built = std::move(row.built),
          .smallest = row.smallest,
          .largest = row.largest,
          .summary = std::move(row.summary),
          .get = {},
          .set = {}};
}

std::size_t choice_index(const std::vector<std::string>& choices, const std::string& name) {
  const auto found = std::find(choices.begin(), choices.end(), name);
  LOCKSTEP_CHECK(found != choices.end(), "no choice is named '" + name + "'");
  return static_cast<std::size_t>(found - choices.begin());
}

std::span<const Field> fields() {
  static const std::vector<Field> table = all_fields();
  return table;
}

const Field* find_field(std::string_view name) {
  for (const Field& field : fields()) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

std::string nearest_name(std::string_view name, std::span<const std::string> known) {
  // Near: at most a third of the letters differ, and two for short names.
  std::size_t best = std::max<std::size_t>(2, name.size() / 3);
  std::string nearest;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    const bool shares_nothing = distance >= std::max(name.size(), candidate.size());
    const bool starts_nearer =
        distance == best &&
        (nearest.empty() || shared_prefix(name, candidate) > shared_prefix(name, nearest));
    if ((distance < best || starts_nearer) && !shares_nothing) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string did_you_mean(std::string_view name,
                         std::span<const std::string> known,
                         std::string_view otherwise) {
  const std::string near = nearest_name(name, known);
  return near.empty() ? std::string(otherwise) : fmt::format("; did you mean '{}'?", near);
}

std::string expected_text(const Field& field) {
  switch (field.type) {
    case FieldType::kBool:
      return "true or false";
    case FieldType::kInteger:
      return fmt::format("an integer from {:.0f} to {:.0f}", field.smallest, field.largest);
    case FieldType::kReal:
      return fmt::format("a number from {} to {}", field.smallest, field.largest);
    case FieldType::kChoice:
      return fmt::format("one of {}", fmt::join(field.choices, ", "));
    case FieldType::kText:
      return "text";
    case FieldType::kReals:
      return fmt::format("a list of {} numbers from {} to {}",
                         std::get<std::vector<double>>(field.default_value).size(),
                         field.smallest,
                         field.largest);
    case FieldType::kNames:
      return fmt::format("a list of names out of {}", fmt::join(field.choices, ", "));
  }
  throw InternalError("unknown type of field");
}

Value checked_value(const Field& field, const Value& value) {
  switch (field.type) {
    case FieldType::kBool:
      if (!std::holds_alternative<bool>(value)) refuse(field, value);
      return value;
    case FieldType::kInteger:
    case FieldType::kReal:
      return checked_number(field, value);
    case FieldType::kChoice:
      return checked_choice(field, value);
    case FieldType::kText:
      if (!std::holds_alternative<std::string>(value)) refuse(field, value);
      return value;
    case FieldType::kReals:
      return checked_reals(field, value);
    case FieldType::kNames:
      return checked_names(field, value);
  }
  throw InternalError("unknown type of field");
}

void check_value_built(const Field& field, const Value& value) {
  if (field.built.empty()) return;
  const std::string text = to_text(value);
  if (std::find(field.built.begin(), field.built.end(), text) != field.built.end()) return;
  throw UsageError(fmt::format(
      "{}: {} is not built yet; built: {}", field.name, text, fmt::join(field.built, ", ")));
}

void check_built(const Case& c) {
  for (const Field& field : fields()) {
    if (!field.built.empty()) check_value_built(field, field.get(c));
  }
}

void set_field(Case& c, const Field& field, const Value& value) {
  if (!field.set) {
    throw UsageError(fmt::format("{}: is derived from other fields and cannot be set", field.name));
  }
  const Value checked = checked_value(field, value);
  check_value_built(field, checked);
  field.set(c, checked);
}

void set_num_micro_batches(Case& c, std::int64_t count) {
  const Field& global_batch = *find_field("global_batch");
  std::int64_t samples = 0;
  const bool overflow = __builtin_mul_overflow(c.layout.dp, c.recipe.micro_batch, &samples) ||
                        __builtin_mul_overflow(samples, count, &samples);
  if (overflow || !in_range(global_batch, static_cast<double>(samples))) {
    throw UsageError(
        fmt::format("num_micro_batches: {} times dp {} times micro_batch {} is no global_batch, "
                    "which is {}",
                    count,
                    c.layout.dp,
                    c.recipe.micro_batch,
                    expected_text(global_batch)));
  }
  c.recipe.global_batch = samples;
}

std::string to_text(const Value& value) { return std::visit(ToText{}, value); }

std::string on_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      line += fmt::format("\\x{:02x}", static_cast<unsigned>(byte));
    } else {
      line += c;
    }
  }
  return line;
}

}  // namespace lockstep
