// Reads a YAML value as a field's value, strictly: 1.0 is no integer, "2" is no number, yes is no
// truth.
#pragma once

#include <string>

#include "matrix/spec/yaml_tree.h"

namespace lockstep::matrix {

// Checked for type, range and choice, and that it is built; `field` may be num_micro_batches.
Value read_value(const YamlNode& node, const Field& field, const std::string& file);

// The field that a key names and that a spec can set. UsageError with the nearest for an unknown
// one; `where` says in which part of the spec, as in "axes".
const Field& read_field(const YamlNode& key, const std::string& file, const std::string& where);

// A plain or quoted text that is not empty; an integer of at least `smallest`.
std::string read_text(const YamlNode& node, const std::string& what, const std::string& file);
std::int64_t read_integer(const YamlNode& node,
                          const std::string& what,
                          std::int64_t smallest,
                          const std::string& file);

}  // namespace lockstep::matrix
