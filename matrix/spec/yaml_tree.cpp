// Turns YAML into a tree of our own, and refuses what the library keeps silently.
#include "matrix/spec/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <sstream>
#include <utility>

#include "core/base/errors.h"

namespace lockstep::matrix {
namespace {

constexpr std::size_t kNodesMax = 100'000;  // aliases can multiply nodes without limit
constexpr std::size_t kDepthMax = 32;       // and an alias within its own anchor never ends

Place place_of_mark(const YAML::Mark& mark) {
  return {.line = static_cast<std::size_t>(mark.line) + 1,
          .column = static_cast<std::size_t>(mark.column) + 1};
}

class Converter {
 public:
  explicit Converter(const std::string& file) : file_(file) {}

  YamlNode convert(const YAML::Node& node, const Place& fallback, std::size_t depth) {
    const Place place = place_of(node.Mark(), fallback);
    if (++num_nodes_ > kNodesMax) {
      fail(file_, place, fmt::format("more than {} values", kNodesMax));
    }
    if (depth > kDepthMax) {
      fail(file_, place, fmt::format("nested deeper than {} levels", kDepthMax));
    }
    YamlNode result;
    result.place = place;
    refuse_tag(node, place);
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        break;
      case YAML::NodeType::Scalar:
        result.kind = YamlKind::kScalar;
        result.text = node.Scalar();
        result.quoted = node.Tag() == "!";
        break;
      case YAML::NodeType::Sequence:
        result.kind = YamlKind::kList;
        for (const YAML::Node& item : node) result.items.push_back(convert(item, place, depth + 1));
        break;
      case YAML::NodeType::Map:
        result.kind = YamlKind::kMap;
        for (const auto& entry : node) add_entry(result, entry.first, entry.second, depth);
        break;
    }
    return result;
  }

 private:
  void add_entry(YamlNode& map, const YAML::Node& key, const YAML::Node& value, std::size_t depth) {
    const Place place = place_of(key.Mark(), map.place);
    if (!key.IsScalar()) fail(file_, place, "a key must be a name");
    for (const YamlNode& other : map.keys) {
      if (other.text != key.Scalar()) continue;
      fail(file_,
           place,
           fmt::format(
               "key '{}' stands twice; it is first on line {}", key.Scalar(), other.place.line));
    }
    YamlNode converted_key = convert(key, place, depth + 1);
    YamlNode converted_value = convert(value, place, depth + 1);
    // The library places an absent value at whatever comes next.
    if (converted_value.kind == YamlKind::kNull) converted_value.place = place;
    map.keys.push_back(std::move(converted_key));
    map.items.push_back(std::move(converted_value));
  }

  // "?" marks what is plain and "!" what is quoted; the library leaves it empty for some nodes.
  void refuse_tag(const YAML::Node& node, const Place& place) const {
    const std::string& tag = node.Tag();
    if (tag.empty() || tag == "?" || tag == "!") return;
    fail(file_, place, fmt::format("tag '{}' is not supported; write a plain value", tag));
  }

  static Place place_of(const YAML::Mark& mark, const Place& fallback) {
    if (mark.is_null()) return fallback;
    return place_of_mark(mark);
  }

  const std::string& file_;
  std::size_t num_nodes_ = 0;
};

// Notes where the last document starts, and no more.
class DocumentStarts : public YAML::EventHandler {
 public:
  const YAML::Mark& last() const { return last_; }

  void OnDocumentStart(const YAML::Mark& mark) override { last_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&,
                const std::string&,
                YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&,
                       const std::string&,
                       YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&,
                  const std::string&,
                  YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  YAML::Mark last_;
};

// The library's own reader of all documents never ends for a text that starts with a comma: each
// document there is empty and takes nothing.
void refuse_second_document(const std::string& text, const std::string& file) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStarts starts;
  if (!parser.HandleNextDocument(starts) || !parser.HandleNextDocument(starts)) return;
  fail(file,
       place_of_mark(starts.last()),
       "not YAML: text after the end of the document; a spec is one document");
}

}  // namespace

void fail(const std::string& file, const Place& place, const std::string& message) {
  const std::string where =
      place.line == 0 ? file : fmt::format("{}:{}:{}", file, place.line, place.column);
  throw UsageError(on_one_line(where + ": " + message));
}

std::vector<YamlEntry> entries_of(const YamlNode& map) {
  std::vector<YamlEntry> entries;
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    entries.push_back({.key = map.keys[i], .value = map.items[i]});
  }
  return entries;
}

YamlNode parse_yaml(std::string_view text, const std::string& file) {
  try {
    refuse_second_document(std::string(text), file);
    return Converter(file).convert(YAML::Load(std::string(text)), {}, 0);
  } catch (const YAML::Exception& error) {
    Place place;
    if (!error.mark.is_null()) place = place_of_mark(error.mark);
    fail(file, place, "not YAML: " + error.msg);
  }
}

std::string shown(const YamlNode& node) {
  switch (node.kind) {
    case YamlKind::kNull:
      return "nothing";
    case YamlKind::kList:
      return "a list";
    case YamlKind::kMap:
      return "a map";
    case YamlKind::kScalar: {
      constexpr std::size_t kShownMax = 60;
      const bool cut = node.text.size() > kShownMax;
      return fmt::format("{}'{}'{}",
                         node.quoted ? "the text " : "",
                         node.text.substr(0, kShownMax),
                         cut ? "..." : "");
    }
  }
  throw InternalError("unknown kind of YAML node");
}

}  // namespace lockstep::matrix
