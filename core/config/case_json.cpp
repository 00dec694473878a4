// A case as one flat line of JSON; the one file here that sees the JSON library.
#include "core/config/case_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/digest.h"
#include "core/base/errors.h"
#include "core/config/fields.h"
#include "core/config/presets.h"
#include "core/config/rules.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

// What does not change the reference's result: how the same sums are cut, ordered and issued.
constexpr std::string_view kNotInReference[] = {"overlap",
                                                "reduction_order",
                                                "completion",
                                                "step_api",
                                                "schedule",
                                                "recompute",
                                                "bucket_elements",
                                                "schedule_seed",
                                                "preset"};

// Whether references do not depend on the field.
bool is_ignored(const Field& field) {
  return field.section == FieldSection::kLayout ||
         std::find(std::begin(kNotInReference), std::end(kNotInReference), field.name) !=
             std::end(kNotInReference);
}

std::string json_of(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return Json(*text).dump();
  if (const auto* names = std::get_if<std::vector<std::string>>(&value)) return Json(*names).dump();
  return to_text(value);
}

Json parsed(std::string_view text) {
  std::set<std::string> keys;
  const auto refuse_duplicates = [&keys](int depth, Json::parse_event_t event, Json& node) {
    if (event == Json::parse_event_t::key && depth == 1) {
      const auto name = node.get<std::string>();
      if (!keys.insert(name).second) throw UsageError("case: key '" + name + "' stands twice");
    }
    return true;
  };
  try {
    return Json::parse(text, refuse_duplicates);
  } catch (const Json::exception& error) {
    std::string what = error.what();
    // "[json.exception.parse_error.101] parse error at ...": the user needs what follows.
    const std::size_t start = what.find("] ");
    if (start != std::string::npos) what = what.substr(start + 2);
    throw UsageError("case: not JSON: " + what);
  }
}

Value value_of(const std::string& key, const Json& node) {
  if (node.is_boolean()) return node.get<bool>();
  if (node.is_number_unsigned() && node.get<std::uint64_t>() > INT64_MAX) {
    throw UsageError(fmt::format("{}: {} is too large", key, node.dump()));
  }
  if (node.is_number_integer()) return node.get<std::int64_t>();
  if (node.is_number_float()) return node.get<double>();
  if (node.is_string()) return node.get<std::string>();
  if (node.is_array()) {
    std::vector<std::string> names;
    std::vector<double> reals;
    for (const Json& element : node) {
      if (element.is_string()) names.push_back(element.get<std::string>());
      if (element.is_number()) reals.push_back(element.get<double>());
    }
    if (names.size() == node.size()) return names;
    if (reals.size() == node.size()) return reals;
    throw UsageError(fmt::format("{}: expected a list of names or of numbers", key));
  }
  const Field* field = find_field(key);
  throw UsageError(fmt::format("{}: expected {}, got {}",
                               key,
                               field == nullptr ? "a value" : expected_text(*field),
                               node.is_null() ? "null" : "an object"));
}

std::vector<std::string> defects_of(const Json& node) {
  if (!node.is_array()) throw UsageError("defects: expected a list of ids");
  std::vector<std::string> ids;
  for (const Json& element : node) {
    if (!element.is_string()) throw UsageError("defects: expected a list of ids");
    ids.push_back(element.get<std::string>());
  }
  return ids;
}

[[noreturn]] void refuse_key(const std::string& key) {
  std::vector<std::string> known = {"defects"};
  for (const Field& field : fields()) known.push_back(field.name);
  throw UsageError(fmt::format("case: unknown key '{}'{}", key, did_you_mean(key, known)));
}

Case starting_case(const Json& json) {
  if (!json.contains("preset")) return default_case();
  const Value name = value_of("preset", json["preset"]);
  const std::string* text = std::get_if<std::string>(&name);
  if (text == nullptr) throw UsageError("preset: expected text, got " + json["preset"].dump());
  return text->empty() ? default_case() : preset_case(*text);
}

Case case_of(std::string_view text) {
  const Json json = parsed(text);
  if (!json.is_object()) throw UsageError("case: expected a JSON object, as in {\"tp\": 2}");
  Case c = starting_case(json);
  for (const auto& [key, node] : json.items()) {
    if (key == "preset" || key == "num_micro_batches") continue;
    if (key == "defects") {
      c.defects = defects_of(node);
      continue;
    }
    const Field* field = find_field(key);
    if (field == nullptr) refuse_key(key);
    set_field(c, *field, value_of(key, node));
  }
  if (json.contains("num_micro_batches")) {
    if (json.contains("global_batch")) {
      throw UsageError("num_micro_batches: give it or global_batch, not both");
    }
    const Field& count = *find_field("num_micro_batches");
    const Value value = value_of(count.name, json[count.name]);
    set_num_micro_batches(c, std::get<std::int64_t>(checked_value(count, value)));
  }
  check_built(c);
  check_world(c);
  return c;
}

}  // namespace

std::string case_to_json(const Case& c) {
  std::string text = "{";
  for (const Field& field : fields()) {
    if (!field.set) continue;
    text += fmt::format("\"{}\":{},", field.name, json_of(field.get(c)));
  }
  return text + "\"defects\":" + Json(c.defects).dump() + "}";
}

Case case_from_json(std::string_view text) {
  try {
    return case_of(text);
  } catch (const UsageError& error) {
    throw UsageError(on_one_line(error.what()));
  }
}

std::string case_id(const Case& c) { return hash_hex(case_to_json(c)); }

std::string reference_key(const Case& c) {
  std::string text = "{";
  for (const Field& field : fields()) {
    if (field.section == FieldSection::kDerived || is_ignored(field)) continue;
    text += fmt::format("\"{}\":{},", field.name, json_of(field.get(c)));
  }
  text.back() = '}';
  return text;
}

Case on_single_device(const Case& c) {
  Case single = c;
  single.defects.clear();
  for (const Field& field : fields()) {
    if (is_ignored(field)) field.set(single, field.default_value);
  }
  return single;
}

}  // namespace lockstep
