// What `lockstep --version` prints; CMake hands the facts in as definitions.
#include <fmt/format.h>

#include "backends/gloo/transport.h"
#include "matrix/cli/commands.h"

namespace lockstep::matrix {

std::string version_text() {
  return fmt::format(
      "lockstep {}\n"
      "  compiler      {}\n"
      "  target        -march={}\n"
      "  build type    {}\n"
      "  sanitizers    {}\n"
      "  Boost         {}\n"
      "  Eigen         {}\n"
      "  yaml-cpp      {}\n"
      "  nlohmann-json {}\n"
      "  CLI11         {}\n"
      "  fmt           {}\n"
      "  CUDA          not in this build\n"
      "  NCCL          not in this build\n"
      "  Gloo          {}\n",
      LOCKSTEP_VERSION,
      LOCKSTEP_COMPILER,
      LOCKSTEP_ARCH,
      LOCKSTEP_BUILD_TYPE,
      LOCKSTEP_SANITIZERS,
      LOCKSTEP_BOOST,
      LOCKSTEP_EIGEN,
      LOCKSTEP_YAML_CPP,
      LOCKSTEP_JSON,
      LOCKSTEP_CLI11,
      LOCKSTEP_FMT,
      backends::gloo_version());
}

}  // namespace lockstep::matrix
