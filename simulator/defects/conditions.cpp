// Joining conditions.
#include "simulator/defects/conditions.h"

namespace lockstep::sim {

std::string both(std::string_view a, std::string_view b) {
  return std::string(a) + " && " + std::string(b);
}

}  // namespace lockstep::sim
