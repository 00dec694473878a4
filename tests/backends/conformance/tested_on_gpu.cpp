// The suite on a machine with a GPU: what needs one.
#include "tests/backends/conformance/backends.h"

namespace lockstep::test {

std::vector<TestedBackend> tested_backends() {
  std::vector<TestedBackend> tested = known_backends();
  std::erase_if(tested, [](const TestedBackend& backend) {
    return !backend.on_gpu || !backend.absent.empty();
  });
  return tested;
}

}  // namespace lockstep::test
