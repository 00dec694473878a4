// YAML as a plain tree with places; yaml_tree.cpp is the one file that sees the YAML library.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "matrix/spec/spec.h"

namespace lockstep::matrix {

enum class YamlKind { kNull, kScalar, kList, kMap };

struct YamlNode {
  YamlKind kind = YamlKind::kNull;
  Place place;
  std::string text;             // of a scalar
  bool quoted = false;          // a quoted or block scalar is text, whatever it looks like
  std::vector<YamlNode> keys;   // of a map, each with the item of its place; no two are equal
  std::vector<YamlNode> items;  // of a list or a map
};

struct YamlEntry {
  const YamlNode& key;
  const YamlNode& value;
};

// The entries of a map, in the order of the text.
std::vector<YamlEntry> entries_of(const YamlNode& map);

// A UsageError "file:line:column: message" on one line; "file: message" for line 0.
[[noreturn]] void fail(const std::string& file, const Place& place, const std::string& message);

// The one document of the text; kNull where it is empty. Refuses keys that stand twice, keys that
// are no names, tags, and documents with too many nodes.
YamlNode parse_yaml(std::string_view text, const std::string& file);

// "a list", "the text 'x'", for messages.
std::string shown(const YamlNode& node);

}  // namespace lockstep::matrix
