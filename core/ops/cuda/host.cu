// Copies between host memory, where reals are f64, and buffers.
#include <vector>

#include "core/ops/cpu/element.h"
#include "core/ops/cuda/bodies.h"
#include "core/ops/cuda/element.cuh"
#include "core/tensor/cuda/gpu.h"

namespace lockstep::cuda {
namespace {

// `from` may go once this returns: it is pageable, and CUDA copies pageable memory to its own
// before the call comes back. What is too large for that it moves in pieces, for which it waits.
void copy_from_host(const LaunchTarget& target, const void* from, const Buffer& to) {
  if (to.count == 0) return;
  const auto bytes = static_cast<std::size_t>(to.num_bytes());
  check_cuda(cudaMemcpyAsync(to.bytes(), from, bytes, cudaMemcpyHostToDevice, stream_of(target)),
             "copying " + std::to_string(bytes) + " bytes to the GPU");
}

template <typename T>
void reals_from_host_of(const LaunchTarget& target, const FromHostArgs& args) {
  const auto* const from = static_cast<const double*>(args.from);
  std::vector<T> values(static_cast<std::size_t>(args.to.count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = cpu::rounded_once<T>(from[i]);
  copy_from_host(target, values.data(), args.to);
}

// Of a host read: all earlier work is done, and the caller waits for its values.
template <typename T>
void reals_to_host_of(const LaunchTarget& target, const ToHostArgs& args) {
  if (args.from.count == 0) return;
  std::vector<T> narrow(static_cast<std::size_t>(args.from.count));
  const auto bytes = static_cast<std::size_t>(args.from.num_bytes());
  const std::string doing = "copying " + std::to_string(bytes) + " bytes from the GPU";
  const cudaStream_t stream = stream_of(target);
  check_cuda(
      cudaMemcpyAsync(narrow.data(), args.from.bytes(), bytes, cudaMemcpyDeviceToHost, stream),
      doing);
  check_cuda(cudaStreamSynchronize(stream), doing);
  auto* const to = static_cast<double*>(args.to);
  for (std::size_t i = 0; i < narrow.size(); ++i) to[i] = widened(narrow[i]);
}

}  // namespace

void reals_from_host(const LaunchTarget& target, const FromHostArgs& args) {
  with_type(args.to.dtype,
            [&]<typename T>(ElementType<T>) { reals_from_host_of<T>(target, args); });
}

void integers_from_host(const LaunchTarget& target, const FromHostArgs& args) {
  copy_from_host(target, args.from, args.to);
}

void reals_to_host(const LaunchTarget& target, const ToHostArgs& args) {
  with_type(args.from.dtype,
            [&]<typename T>(ElementType<T>) { reals_to_host_of<T>(target, args); });
}

}  // namespace lockstep::cuda
