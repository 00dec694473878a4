// Single values out of an environment; UsageError names the variable, its value and what is right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "matrix/launch/environment.h"

namespace lockstep::matrix {

// An empty variable is an absent one: a script that unsets by NAME= means that.
std::optional<std::string> find_text(const Environment& environment, std::string_view name);

struct Bounds {
  std::int64_t least;
  std::int64_t most;
};

std::optional<std::int64_t> find_integer(const Environment& environment,
                                         std::string_view name,
                                         const Bounds& bounds);

// As find_integer, where `beside` is set and does not make sense without `name`.
std::int64_t need_integer(const Environment& environment,
                          std::string_view name,
                          const Bounds& bounds,
                          std::string_view beside);

}  // namespace lockstep::matrix
