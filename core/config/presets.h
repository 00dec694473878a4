// Named starting points: each is the defaults with some fields changed, as a list of (field,
// value).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/case.h"
#include "core/config/fields.h"

namespace lockstep {

struct Preset {
  std::string name;
  std::string summary;
  bool built;
  std::vector<std::pair<std::string, Value>> values;
};

std::span<const Preset> presets();

// The whole case of a preset. UsageError for an unknown name (with the nearest) or one not built.
Case preset_case(std::string_view name);

}  // namespace lockstep
