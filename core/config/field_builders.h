// Makes rows of the table of fields from member pointers; only the fields_*.cpp see this.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/errors.h"
#include "core/config/case.h"
#include "core/config/fields.h"

namespace lockstep {

// The columns of a row that are not its member: designated at each use.
struct FieldRow {
  std::string name;
  Value default_value;
  std::vector<std::string> choices = {};
  std::vector<std::string> built = {};
  double smallest = 0.0;
  double largest = 0.0;
  std::string summary;
};

template <typename Part>
constexpr FieldSection section_of();
template <>
constexpr FieldSection section_of<Model>() {
  return FieldSection::kModel;
}
template <>
constexpr FieldSection section_of<Layout>() {
  return FieldSection::kLayout;
}
template <>
constexpr FieldSection section_of<Recipe>() {
  return FieldSection::kRecipe;
}

template <typename T>
constexpr FieldType type_of() {
  if constexpr (std::is_enum_v<T>) return FieldType::kChoice;
  if constexpr (std::is_same_v<T, bool>) return FieldType::kBool;
  if constexpr (std::is_same_v<T, std::int64_t>) return FieldType::kInteger;
  if constexpr (std::is_same_v<T, double>) return FieldType::kReal;
  if constexpr (std::is_same_v<T, std::string>) return FieldType::kText;
  if constexpr (std::is_same_v<T, std::vector<double>>) return FieldType::kReals;
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return FieldType::kNames;
}

Field field_of_row(FieldRow row, FieldSection section, FieldType type);
// Position of a name among the choices; InternalError where it is none of them.
std::size_t choice_index(const std::vector<std::string>& choices, const std::string& name);

// A row over case.*part.*member. Choices are listed in the order of the enumerators.
template <typename Part, typename T>
Field field(Part Case::*part, T Part::*member, FieldRow row) {
  Field result = field_of_row(std::move(row), section_of<Part>(), type_of<T>());
  if constexpr (std::is_enum_v<T>) {
    result.get = [part, member, names = result.choices](const Case& c) -> Value {
      return names.at(static_cast<std::size_t>(c.*part.*member));
    };
    result.set = [part, member, names = result.choices](Case& c, const Value& value) {
      c.*part.*member = static_cast<T>(choice_index(names, std::get<std::string>(value)));
    };
  } else {
    result.get = [part, member](const Case& c) -> Value { return c.*part.*member; };
    result.set = [part, member](Case& c, const Value& value) {
      c.*part.*member = std::get<T>(value);
    };
  }
  return result;
}

// The rows of each section, in the order in which lists and JSON show them.
std::vector<Field> model_fields();
std::vector<Field> layout_fields();
std::vector<Field> recipe_fields();
std::vector<Field> derived_fields();

}  // namespace lockstep
