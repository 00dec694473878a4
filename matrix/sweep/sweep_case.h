// A named case of a sweep, with the reason where its layout cannot exist.
#pragma once

#include <string>

#include "core/config/case.h"

namespace lockstep::matrix {

struct SweepCase {
  std::string name;  // the varied axes in the spec's order
  Case c;
  std::string invalid_reason;  // empty: the layout can exist
};

}  // namespace lockstep::matrix
