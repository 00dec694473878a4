// What `lockstep --version` prints; CMake hands the facts in as definitions.
#include <fmt/format.h>

#include <map>

#include "backends/gloo/transport.h"
#include "backends/nccl/transport.h"
#include "core/ops/cuda/kernels.h"
#include "core/tensor/cuda/gpu.h"
#include "matrix/cli/commands.h"

namespace lockstep::matrix {
namespace {

std::string with_reason(const std::string& version, const std::string& why_not) {
  return why_not.empty() ? version : version + "; " + why_not;
}

// That ranks can have GPUs alone and cannot share them is told as well.
std::string why_not_all_of_nccl() {
  const std::string why = backends::why_no_nccl(1);
  return why.empty() ? backends::why_no_nccl(2) : why;
}

// "2 x NVIDIA H200", or why there is none.
std::string gpus_text() {
  std::map<std::string, int> num_of_model;
  for (const GpuName& gpu : gpu_names()) ++num_of_model[gpu.model];
  std::string text;
  for (const auto& [model, num] : num_of_model) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", num, model);
  }
  return text.empty() ? "none; " + why_no_cuda() : text;
}

}  // namespace

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
      "  Gloo          {}\n"
      "  CUDA          {}\n"
      "  cuBLAS        {}\n"
      "  NCCL          {}\n"
      "  GPUs          {}\n",
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
      with_reason(backends::gloo_version(), backends::why_no_gloo()),
      cuda_version(),
      cublas_version(),
      with_reason(backends::nccl_version(), why_not_all_of_nccl()),
      gpus_text());
}

}  // namespace lockstep::matrix
