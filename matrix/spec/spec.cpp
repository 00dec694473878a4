// Reads a spec key by key; each part has one function.
#include "matrix/spec/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/errors.h"
#include "core/config/presets.h"
#include "core/config/text_file.h"
#include "matrix/spec/spec_values.h"
#include "matrix/spec/yaml_tree.h"

namespace lockstep::matrix {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{1} << 20;
constexpr std::int64_t kSampleMax = 1'000'000;

const std::vector<std::string>& known_keys() {
  static const std::vector<std::string> keys = {"lockstep",
                                                "name",
                                                "model",
                                                "recipe",
                                                "axes",
                                                "where",
                                                "include",
                                                "exclude",
                                                "expand",
                                                "checks"};
  return keys;
}

std::string suggestion(const std::string& name, std::span<const std::string> known) {
  return did_you_mean(name, known, fmt::format("; it is one of {}", fmt::join(known, ", ")));
}

std::string_view name_of(FieldSection section) {
  switch (section) {
    case FieldSection::kModel:
      return "model";
    case FieldSection::kLayout:
      return "axes";
    case FieldSection::kRecipe:
    case FieldSection::kDerived:
      return "recipe";
  }
  throw InternalError("unknown section");
}

class SpecReader {
 public:
  SpecReader(const std::string& file, std::span<const KnownCheck> checks) : checks_(checks) {
    spec_.file = file;
  }

  Spec read(const YamlNode& root) {
    if (root.kind == YamlKind::kNull) fail_at(root, "spec is empty; start with 'lockstep: 1'");
    if (root.kind != YamlKind::kMap) {
      fail_at(root,
              fmt::format("expected a map of keys, as in 'lockstep: 1', got {}", shown(root)));
    }
    read_version(root);
    for (const auto& [key, value] : entries_of(root)) read_key(key, value);
    if (spec_.name.empty()) fail_at(root, "key 'name' is missing");
    refuse_both_batches();
    return std::move(spec_);
  }

 private:
  [[noreturn]] void fail_at(const YamlNode& node, const std::string& message) const {
    fail(spec_.file, node.place, message);
  }

  // First of all: the keys of another version may mean something else.
  void read_version(const YamlNode& root) {
    for (const auto& [key, value] : entries_of(root)) {
      if (key.text != "lockstep") continue;
      if (value.kind == YamlKind::kScalar && !value.quoted && value.text == "1") return;
      fail_at(
          value,
          fmt::format("lockstep: expected 1, the version of this format, got {}", shown(value)));
    }
    for (const auto& [key, value] : entries_of(root)) {
      if (std::find(known_keys().begin(), known_keys().end(), key.text) == known_keys().end()) {
        read_key(key, value);
      }
    }
    fail_at(root, "key 'lockstep' is missing; start with 'lockstep: 1'");
  }

  void read_key(const YamlNode& key, const YamlNode& value) {
    if (key.text == "lockstep") return;
    if (key.text == "name") return read_name(value);
    if (key.text == "model") return read_base(value, FieldSection::kModel);
    if (key.text == "recipe") return read_base(value, FieldSection::kRecipe);
    if (key.text == "axes") return read_axes(value);
    if (key.text == "where") return read_where(value);
    if (key.text == "include") return read_rows(value, "include", spec_.include);
    if (key.text == "exclude") return read_rows(value, "exclude", spec_.exclude);
    if (key.text == "expand") return read_expand(value);
    if (key.text == "checks") return read_checks(value);
    fail_at(key, fmt::format("unknown key '{}'{}", key.text, suggestion(key.text, known_keys())));
  }

  // The name becomes a folder's name.
  void read_name(const YamlNode& value) {
    const std::string name = read_text(value, "name", spec_.file);
    constexpr std::string_view kAllowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    if (name.front() == '.' || name.front() == '-' || name.size() > 100 ||
        name.find_first_not_of(kAllowed) != std::string::npos) {
      fail_at(value,
              fmt::format("name: expected at most 100 letters, digits, '-', '_' and '.', starting "
                          "with a letter or digit, got {}",
                          shown(value)));
    }
    spec_.name = name;
  }

  void read_base(const YamlNode& map, FieldSection section) {
    const std::string part(name_of(section));
    require_map(map, part);
    for (const auto& [key, value] : entries_of(map)) {
      const bool from_file = key.text == "hf" || key.text == "hf_config" || key.text == "miniature";
      if (section == FieldSection::kModel && from_file) {
        fail_at(key, fmt::format("model: '{}' is not built yet; name a preset", key.text));
      }
      const Field& field = read_field(key, spec_.file, part);
      const std::string_view home = name_of(field.section);
      if (home != part) {
        fail_at(key,
                fmt::format("{}: '{}' belongs under {}{}",
                            part,
                            field.name,
                            home,
                            home == "axes" ? fmt::format(", as in '{}: [...]'", field.name) : ""));
      }
      const Value read = read_value(value, field, spec_.file);
      if (field.name == "preset") {
        spec_.preset = std::get<std::string>(read);
      } else {
        spec_.base.push_back({.field = &field, .value = read, .place = key.place});
      }
    }
  }

  void read_axes(const YamlNode& map) {
    require_map(map, "axes");
    spec_.axes_place = map.place;
    for (const auto& [key, values] : entries_of(map)) {
      const Field& field = read_field(key, spec_.file, "axes");
      if (values.kind != YamlKind::kList) {
        fail_at(values,
                fmt::format("axes: {}: expected a list of values, as in [{}], got {}",
                            field.name,
                            to_text(field.default_value),
                            shown(values)));
      }
      if (values.items.empty()) {
        fail_at(values, fmt::format("axes: {}: has no values; give at least one", field.name));
      }
      SpecAxis axis{.field = &field, .values = {}, .place = key.place};
      for (const YamlNode& item : values.items) {
        const Value value = read_value(item, field, spec_.file);
        if (std::find(axis.values.begin(), axis.values.end(), value) != axis.values.end()) {
          fail_at(item, fmt::format("axes: {}: {} stands twice", field.name, to_text(value)));
        }
        axis.values.push_back(value);
      }
      spec_.axes.push_back(std::move(axis));
    }
  }

  void read_where(const YamlNode& list) {
    require_list(list, "where", "[\"world <= 16\"]");
    for (const YamlNode& item : list.items) {
      const std::string text = read_text(item, "where", spec_.file);
      try {
        spec_.where.push_back({.expression = Expression::parse(text), .place = item.place});
      } catch (const ExpressionError& error) {
        // The column within a text that spans lines is not one of the file's.
        Place place = item.place;
        if (text.find('\n') == std::string::npos) {
          place.column += error.column() - 1 + (item.quoted ? 1 : 0);
        }
        fail(spec_.file, place, fmt::format("where: {}, in '{}'", error.what(), text));
      }
    }
  }

  void read_rows(const YamlNode& list, const std::string& part, std::vector<SpecRow>& rows) {
    require_list(list, part, "[{tp: 4}]");
    for (const YamlNode& item : list.items) {
      require_map(item, part);
      if (item.keys.empty()) fail_at(item, part + ": a row names at least one field");
      SpecRow row{.settings = {}, .place = item.place};
      for (const auto& [key, value] : entries_of(item)) {
        const Field& field = read_field(key, spec_.file, part);
        row.settings.push_back(
            {.field = &field, .value = read_value(value, field, spec_.file), .place = key.place});
      }
      rows.push_back(std::move(row));
    }
  }

  void read_expand(const YamlNode& node) {
    if (node.kind == YamlKind::kScalar && node.text == "full") return;
    if (node.kind != YamlKind::kMap) {
      fail_at(
          node,
          fmt::format("expand: expected 'full' or '{{sample: N, seed: S}}', got {}", shown(node)));
    }
    Sampling sampling{.count = 0, .seed = 1};
    const std::vector<std::string> known = {"sample", "seed"};
    for (const auto& [key, value] : entries_of(node)) {
      if (key.text == "sample") {
        sampling.count = read_integer(value, "expand: sample", 1, spec_.file);
        if (sampling.count > kSampleMax) {
          fail_at(value, fmt::format("expand: sample: at most {}", kSampleMax));
        }
      } else if (key.text == "seed") {
        sampling.seed = read_integer(value, "expand: seed", 0, spec_.file);
      } else if (key.text == "strength") {
        fail_at(key, "expand: 'strength' is not built yet; use 'full' or '{sample: N}'");
      } else {
        fail_at(key,
                fmt::format("expand: unknown key '{}'{}", key.text, suggestion(key.text, known)));
      }
    }
    if (sampling.count == 0) fail_at(node, "expand: key 'sample' is missing");
    spec_.sample = sampling;
  }

  void read_checks(const YamlNode& node) {
    if (node.kind == YamlKind::kScalar && node.text == "default") return;
    if (node.kind != YamlKind::kList || node.items.empty()) {
      fail_at(node,
              fmt::format("checks: expected 'default' or a list of checks, got {}",
                          node.kind == YamlKind::kList ? "an empty list" : shown(node)));
    }
    std::vector<std::string> known;
    for (const KnownCheck& check : checks_) known.push_back(check.name);
    for (const YamlNode& item : node.items) {
      const std::string name = read_text(item, "checks", spec_.file);
      const auto found = std::find(known.begin(), known.end(), name);
      if (found == known.end()) {
        fail_at(item, fmt::format("checks: unknown check '{}'{}", name, suggestion(name, known)));
      }
      if (!checks_[static_cast<std::size_t>(found - known.begin())].built) {
        fail_at(item, fmt::format("checks: '{}' is not built yet", name));
      }
      if (std::find(spec_.checks.begin(), spec_.checks.end(), name) != spec_.checks.end()) {
        fail_at(item, fmt::format("checks: '{}' stands twice", name));
      }
      spec_.checks.push_back(name);
    }
  }

  void require_map(const YamlNode& node, const std::string& part) const {
    if (node.kind == YamlKind::kMap) return;
    fail_at(
        node,
        fmt::format("{}: expected a map of fields, as in {{tp: ...}}, got {}", part, shown(node)));
  }
  void require_list(const YamlNode& node, const std::string& part, const char* example) const {
    if (node.kind == YamlKind::kList) return;
    fail_at(node, fmt::format("{}: expected a list, as in {}, got {}", part, example, shown(node)));
  }

  void refuse_both_batches() const;

  Spec spec_;
  std::span<const KnownCheck> checks_;
};

// Places of the fields that the recipe and the axes give; a row stands for itself.
void SpecReader::refuse_both_batches() const {
  std::vector<Setting> given = spec_.base;
  for (const SpecAxis& axis : spec_.axes) {
    given.push_back({.field = axis.field, .value = axis.values.front(), .place = axis.place});
  }
  std::vector<std::vector<Setting>> parts = {std::move(given)};
  for (const SpecRow& row : spec_.include) parts.push_back(row.settings);
  for (const std::vector<Setting>& part : parts) {
    std::size_t num_given = 0;
    for (const Setting& setting : part) {
      const std::string& name = setting.field->name;
      if (name != "global_batch" && name != "num_micro_batches") continue;
      if (++num_given == 1) continue;
      fail(spec_.file, setting.place, "give global_batch or num_micro_batches, never both");
    }
  }
}

}  // namespace

Spec parse_spec(std::string_view text,
                const std::string& file,
                std::span<const KnownCheck> checks) {
  return SpecReader(file, checks).read(parse_yaml(text, file));
}

Spec load_spec(const std::string& path, std::span<const KnownCheck> checks) {
  return parse_spec(read_text_file(path, kFileBytesMax), path, checks);
}

}  // namespace lockstep::matrix
