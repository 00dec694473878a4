// `lockstep list`: the tables of the code, as text.
#include <fmt/format.h>

#include <algorithm>

#include "core/config/fields.h"
#include "core/config/presets.h"
#include "matrix/cli/commands.h"
#include "matrix/cli/output.h"
#include "matrix/cli/values.h"
#include "simulator/checks/checks.h"
#include "simulator/defects/defect.h"

namespace lockstep::matrix {
namespace {

using Row = std::vector<std::string>;

constexpr std::size_t kWidestColumn = 40;

// Columns as wide as their widest cell, but for a few long cells, and the last one free.
std::string table_text(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      widths[i] = std::min(std::max(widths[i], row[i].size()), kWidestColumn);
    }
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i + 1 < row.size() ? fmt::format("{:<{}}  ", row[i], widths[i]) : row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string name_of_section(FieldSection section) {
  switch (section) {
    case FieldSection::kModel:
      return "model";
    case FieldSection::kLayout:
      return "layout";
    case FieldSection::kRecipe:
      return "recipe";
    case FieldSection::kDerived:
      return "derived";
  }
  return "";
}

std::string name_of_type(FieldType type) {
  switch (type) {
    case FieldType::kBool:
      return "bool";
    case FieldType::kInteger:
      return "integer";
    case FieldType::kReal:
      return "real";
    case FieldType::kChoice:
      return "choice";
    case FieldType::kText:
      return "text";
    case FieldType::kReals:
      return "reals";
    case FieldType::kNames:
      return "names";
  }
  return "";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "|") + word;
  return text;
}

std::string values_text(const Field& field) {
  switch (field.type) {
    case FieldType::kBool:
      return "true|false";
    case FieldType::kInteger:
      return fmt::format("{:.0f}..{:.0f}", field.smallest, field.largest);
    case FieldType::kReal:
      return fmt::format("{:g}..{:g}", field.smallest, field.largest);
    case FieldType::kChoice:
    case FieldType::kNames:
      return joined(field.choices);
    case FieldType::kText:
    case FieldType::kReals:
      return "";
  }
  return "";
}

std::string list_axes() {
  std::vector<Row> rows = {{"field", "section", "type", "default", "values", "built", "meaning"}};
  for (const Field& field : fields()) {
    const bool derived = field.section == FieldSection::kDerived;
    rows.push_back({field.name,
                    name_of_section(field.section),
                    name_of_type(field.type),
                    derived ? "" : to_text(field.default_value),
                    derived ? "" : values_text(field),
                    field.built.empty() ? "all" : joined(field.built),
                    field.summary});
  }
  return table_text(rows);
}

std::string list_checks() {
  std::vector<Row> rows = {{"check", "built", "meaning"}};
  for (const sim::Check& check : sim::checks()) {
    rows.push_back({check.name, check.built ? "yes" : "no", check.summary});
  }
  return table_text(rows);
}

std::string list_defects() {
  std::vector<Row> rows = {{"defect", "source", "visible when", "summary"}};
  for (const sim::Defect& defect : sim::defects()) {
    rows.push_back({defect.id, defect.source, defect.visible_when, defect.summary});
  }
  return table_text(rows);
}

std::string list_presets() {
  std::vector<Row> rows = {{"preset", "built", "what it is"}};
  for (const Preset& preset : presets()) {
    rows.push_back({preset.name, preset.built ? "yes" : "no", preset.summary});
  }
  return table_text(rows);
}

std::string list_backends() {
  std::vector<Row> rows = {{"flag", "name", "built", "what it is"}};
  for (const BackendRow& row : backend_rows()) {
    rows.push_back({row.flag, row.name, row.built ? "yes" : "no", row.summary});
  }
  return table_text(rows);
}

}  // namespace

int list_command(const Arguments& arguments) {
  const std::string what = choice_option(
      "list", arguments.subject, {"axes", "checks", "defects", "presets", "backends"});
  if (what == "axes") print_out(list_axes());
  if (what == "checks") print_out(list_checks());
  if (what == "defects") print_out(list_defects());
  if (what == "presets") print_out(list_presets());
  if (what == "backends") print_out(list_backends());
  return 0;
}

}  // namespace lockstep::matrix
