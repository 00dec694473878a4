// Settings on top of a preset, and --set on top of a spec.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/config/presets.h"
#include "matrix/spec/spec.h"
#include "matrix/spec/spec_values.h"
#include "matrix/spec/yaml_tree.h"

namespace lockstep::matrix {
namespace {

bool is_count(const Field& field) { return field.name == "num_micro_batches"; }
bool is_batch(const Field& field) { return field.name == "global_batch"; }
bool is_preset(const Field& field) { return field.name == "preset"; }

std::string preset_of(const Spec& spec, std::span<const Setting> settings) {
  std::string preset = spec.preset;
  for (const Setting& setting : settings) {
    if (is_preset(*setting.field)) preset = std::get<std::string>(setting.value);
  }
  return preset;
}

// The last of the two ways to give the batch that these settings name; `before` where none does.
const Setting* batch_of(std::span<const Setting> settings, const Setting* before) {
  for (const Setting& setting : settings) {
    if (is_count(*setting.field) || is_batch(*setting.field)) before = &setting;
  }
  return before;
}

void apply_settings(Case& c, std::span<const Setting> settings) {
  for (const Setting& setting : settings) {
    if (is_preset(*setting.field) || is_count(*setting.field)) continue;
    setting.field->set(c, setting.value);
  }
}

// A value of the command line has no line and column.
void clear_places(YamlNode& node) {
  node.place = {.line = 0, .column = 0};
  for (YamlNode& item : node.items) clear_places(item);
  for (YamlNode& key : node.keys) clear_places(key);
}

void replace_in(std::vector<Setting>& settings, const Setting& replacement) {
  for (Setting& setting : settings) {
    if (setting.field == replacement.field) setting.value = replacement.value;
  }
}

// The field that excludes this one: each of the two gives the batch.
std::string_view rival_of(const Field& field) {
  if (is_count(field)) return "global_batch";
  if (is_batch(field)) return "num_micro_batches";
  return "";
}

void refuse_rival(const Spec& spec, const Field& field, const std::string& source) {
  const std::string_view rival = rival_of(field);
  const auto names_rival = [rival](const Field& other) { return other.name == rival; };
  bool found = std::any_of(spec.axes.begin(), spec.axes.end(), [&](const SpecAxis& axis) {
    return names_rival(*axis.field);
  });
  for (const SpecRow& row : spec.include) {
    found = found || std::any_of(row.settings.begin(), row.settings.end(), [&](const Setting& s) {
              return names_rival(*s.field);
            });
  }
  if (!found) return;
  throw UsageError(fmt::format("{}: the spec varies {}; set that instead", source, rival));
}

}  // namespace

Case build_case(const Spec& spec, std::span<const Setting> settings) {
  const std::string preset = preset_of(spec, settings);
  Case c = preset.empty() ? default_case() : preset_case(preset);
  apply_settings(c, spec.base);
  apply_settings(c, settings);
  const Setting* batch = batch_of(settings, batch_of(spec.base, nullptr));
  if (batch != nullptr && is_count(*batch->field)) {
    set_num_micro_batches(c, std::get<std::int64_t>(batch->value));
  }
  return c;
}

void override_field(Spec& spec, std::string_view assignment) {
  const std::string source = fmt::format("--set {}", assignment);
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw UsageError(fmt::format("{}: expected KEY=VALUE, as in --set steps=1", source));
  }
  YamlNode key;
  key.place = {.line = 0, .column = 0};
  key.text = assignment.substr(0, equals);
  const Field& field = read_field(key, source, "");
  YamlNode node = parse_yaml(assignment.substr(equals + 1), source);
  clear_places(node);
  const Setting setting{
      .field = &field, .value = read_value(node, field, source), .place = node.place};
  refuse_rival(spec, field, source);
  std::erase_if(spec.base, [&](const Setting& other) {
    return other.field == &field || other.field->name == rival_of(field);
  });
  if (is_preset(field)) {
    spec.preset = std::get<std::string>(setting.value);
  } else {
    spec.base.push_back(setting);
  }
  for (SpecAxis& axis : spec.axes) {
    if (axis.field == &field) axis.values = {setting.value};
  }
  for (SpecRow& row : spec.include) replace_in(row.settings, setting);
}

}  // namespace lockstep::matrix
