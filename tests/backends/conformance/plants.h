// Backends that are wrong in one way each: what the suite must catch.
#pragma once

#include <string>
#include <vector>

#include "tests/backends/conformance/backends.h"

namespace lockstep::test {

struct Plant {
  TestedBackend backend;               // the in-process one, spoilt
  std::vector<std::string> caught_by;  // parts of the suite that must complain; none of no plant
  std::string complaint;               // holds this, in the first of those parts
};

std::vector<Plant> plants();

}  // namespace lockstep::test
