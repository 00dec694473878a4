// Launches that carry numbers between host memory and tensors.
#include "core/ops/host.h"

#include <algorithm>

#include "core/base/errors.h"

namespace lockstep {
namespace {

void launch_from_host(const OpContext& ops,
                      std::string_view label,
                      Kernel<FromHostArgs> kernel,
                      const FromHostArgs& args) {
  launch_kernel(ops, label, {.reads = {}, .writes = {args.to}}, kernel, args);
}

void check_count(std::size_t values, const Tensor& to) {
  LOCKSTEP_CHECK(static_cast<std::int64_t>(values) == to.num_elements(),
                 std::to_string(values) + " host values for shape " + to_text(to.shape));
}

}  // namespace

Tensor reals_from_host(const OpContext& ops,
                       DType dtype,
                       std::span<const double> values,
                       const Shape& shape,
                       std::string_view label) {
  const Tensor tensor = new_tensor(ops, dtype, shape, label);
  write_reals(ops, values, tensor, label);
  return tensor;
}

Tensor integers_from_host(const OpContext& ops,
                          std::span<const std::int64_t> values,
                          const Shape& shape,
                          std::string_view label) {
  const Tensor tensor = allocate_tensor(ops.device, DType::kI64, shape, label, ops.stream);
  check_count(values.size(), tensor);
  launch_from_host(
      ops, label, ops.kernels.integers_from_host, {.from = values.data(), .to = tensor.buffer()});
  return tensor;
}

void write_reals(const OpContext& ops,
                 std::span<const double> values,
                 const Tensor& to,
                 std::string_view label) {
  check_count(values.size(), to);
  launch_from_host(
      ops, label, ops.kernels.reals_from_host, {.from = values.data(), .to = to.buffer()});
}

std::vector<double> read_reals(const OpContext& ops,
                               const Tensor& tensor,
                               std::string_view label,
                               double assumed) {
  std::vector<double> values(static_cast<std::size_t>(tensor.num_elements()));
  if (assumed != 0.0) std::fill(values.begin(), values.end(), assumed);
  const ToHostArgs args{.from = tensor.buffer(), .to = values.data()};
  ops.device.launch(
      {.label = label,
       .kind = LaunchKind::kHostRead,
       .reads = {&args.from, 1},
       .cost = {.flops = 0, .bytes = args.from.num_bytes()},
       .stream = ops.stream,
       .body = [&](const LaunchTarget& target) { ops.kernels.reals_to_host(target, args); }});
  return values;
}

}  // namespace lockstep
