// Builds the parts of a name; which choices are ambiguous depends on the fields, not on the values
// listed, so that a name stays when values are added to an axis.
#include "matrix/spec/case_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::matrix {
namespace {

std::vector<std::string> names_of(const Field& field) {
  if (field.type == FieldType::kBool) return {field.name};
  if (field.type == FieldType::kChoice) return field.choices;
  return {};
}

std::string joined(const Value& value) {
  if (const auto* names = std::get_if<std::vector<std::string>>(&value)) {
    return names->empty() ? "none" : fmt::format("{}", fmt::join(*names, "+"));
  }
  if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
    return fmt::format("{}", fmt::join(*reals, "+"));
  }
  return to_text(value);
}

// Empty where the part is nothing.
std::string part_of(const Field& field, const Value& value, bool tells_axis) {
  switch (field.type) {
    case FieldType::kInteger:
    case FieldType::kReal:
      return field.name + joined(value);
    case FieldType::kBool:
      if (std::get<bool>(value)) return field.name;
      return tells_axis ? "" : field.name + "=false";
    case FieldType::kChoice:
    case FieldType::kText:
      return tells_axis ? joined(value) : field.name + "=" + joined(value);
    case FieldType::kReals:
    case FieldType::kNames:
      return field.name + "=" + joined(value);
  }
  return "";
}

void append(std::string& name, const std::string& part) {
  if (part.empty()) return;
  if (!name.empty()) name += '.';
  name += part;
}

bool has_field(std::span<const Setting> row, std::string_view name) {
  return std::any_of(row.begin(), row.end(), [name](const Setting& setting) {
    return setting.field->name == name;
  });
}

}  // namespace

CaseNamer::CaseNamer(std::span<const SpecAxis> axes) {
  for (const SpecAxis& axis : axes) {
    Part part{.field = axis.field, .shared = {}};
    for (const SpecAxis& other : axes) {
      if (other.field == axis.field) continue;
      for (const std::string& name : names_of(*other.field)) part.shared.push_back(name);
    }
    parts_.push_back(std::move(part));
  }
}

std::string CaseNamer::name(const Case& c) const { return name(c, {}); }

std::string CaseNamer::name(const Case& c, std::span<const Setting> row) const {
  std::string result;
  for (const Part& part : parts_) {
    // A row that gives the batch itself is not named by a count that may be rounded.
    if (part.field->name == "num_micro_batches" && has_field(row, "global_batch")) continue;
    const Value value = part.field->get(c);
    const std::string* choice = std::get_if<std::string>(&value);
    const bool shared =
        choice != nullptr &&
        std::find(part.shared.begin(), part.shared.end(), *choice) != part.shared.end();
    append(result, part_of(*part.field, value, !shared));
  }
  for (const Setting& setting : row) {
    const bool is_axis = std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) {
      return part.field == setting.field;
    });
    if (!is_axis) append(result, part_of(*setting.field, setting.value, false));
  }
  return result.empty() ? "base" : result;
}

}  // namespace lockstep::matrix
