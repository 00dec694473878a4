// Names of axes, as layouts spell them.
#include "core/comm/axis.h"

#include "core/base/errors.h"

namespace lockstep {

std::string_view name_of(Axis axis) {
  switch (axis) {
    case Axis::kTp:
      return "tp";
    case Axis::kCp:
      return "cp";
    case Axis::kDp:
      return "dp";
    case Axis::kPp:
      return "pp";
    case Axis::kEtp:
      return "etp";
    case Axis::kEp:
      return "ep";
    case Axis::kEdp:
      return "edp";
  }
  throw InternalError("unknown axis");
}

}  // namespace lockstep
