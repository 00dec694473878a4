// `lockstep list`: the tables of the code, as text.
#include <fmt/format.h>

#include "core/config/fields.h"
#include "core/config/presets.h"
#include "matrix/cli/commands.h"
#include "matrix/cli/output.h"
#include "matrix/cli/table_text.h"
#include "matrix/cli/values.h"
#include "simulator/checks/checks.h"
#include "simulator/defects/defect.h"

namespace lockstep::matrix {
namespace {

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

std::vector<Row> axes_rows() {
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
  return rows;
}

std::vector<Row> check_rows() {
  std::vector<Row> rows = {{"check", "built", "meaning"}};
  for (const sim::Check& check : sim::checks()) {
    rows.push_back({check.name, check.built ? "yes" : "no", check.summary});
  }
  return rows;
}

// Too long, some of them, for a common width.
const char* const kConditions = "visible when";

std::vector<Row> defect_rows() {
  std::vector<Row> rows = {{"defect", "source", kConditions, "summary"}};
  for (const sim::Defect& defect : sim::defects()) {
    rows.push_back({defect.id, defect.source, defect.visible_when, defect.summary});
  }
  return rows;
}

std::vector<Row> preset_rows() {
  std::vector<Row> rows = {{"preset", "built", "what it is"}};
  for (const Preset& preset : presets()) {
    rows.push_back({preset.name, preset.built ? "yes" : "no", preset.summary});
  }
  return rows;
}

std::vector<Row> backend_table() {
  std::vector<Row> rows = {{"flag", "name", "usable", "what it is", "why not"}};
  for (const BackendRow& row : backend_rows()) {
    const std::string why_not = row.why_not();
    rows.push_back({row.flag, row.name, why_not.empty() ? "yes" : "no", row.summary, why_not});
  }
  return rows;
}

}  // namespace

int list_command(const Arguments& arguments) {
  const std::string what = choice_option(
      "list", arguments.subject, {"axes", "checks", "defects", "presets", "backends"});
  std::vector<Row> rows;
  if (what == "axes") rows = axes_rows();
  if (what == "checks") rows = check_rows();
  if (what == "defects") rows = defect_rows();
  if (what == "presets") rows = preset_rows();
  if (what == "backends") rows = backend_table();
  print_out(table_text(rows, terminal_width(), kConditions));
  return 0;
}

}  // namespace lockstep::matrix
