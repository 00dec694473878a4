// Allocation of the optimizer's state.
#include "core/train/optimizer_state.h"

#include "core/ops/elementwise.h"

namespace lockstep {
namespace {

// A zeroed tensor of the accumulation type for each parameter: views on one block.
std::vector<Tensor> zeroed(const OpContext& ops,
                           std::span<const Tensor> parameters,
                           std::string_view label) {
  std::vector<std::int64_t> sizes;
  for (const Tensor& parameter : parameters) sizes.push_back(parameter.num_elements());
  const BlockLayout layout = lay_out(sizes);
  const Tensor block = new_tensor(ops, ops.main_dtype(), {layout.num_elements}, label);
  fill(ops, block, 0.0, label);
  std::vector<Tensor> views;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    views.push_back(block.rows(layout.offsets[i], sizes[i]).reshaped(parameters[i].shape));
  }
  return views;
}

}  // namespace

OptimizerState::OptimizerState(const OpContext& ops,
                               const OptimizerStateSpec& spec,
                               const Parameters& parameters)
    : has_masters_(spec.masters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters_.push_back(parameters[{static_cast<int>(i)}].value);
  }
  masters_ = has_masters_ ? zeroed(ops, parameters_, "optimizer.masters") : parameters_;
  if (!spec.moments) return;
  exp_avg_ = zeroed(ops, parameters_, "optimizer.exp_avg");
  exp_avg_sq_ = zeroed(ops, parameters_, "optimizer.exp_avg_sq");
}

}  // namespace lockstep
