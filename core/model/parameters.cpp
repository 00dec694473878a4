// Laying out a rank's parameters.
#include "core/model/parameters.h"

#include "core/base/errors.h"
#include "core/ops/elementwise.h"

namespace lockstep {

BlockLayout lay_out(const std::vector<std::int64_t>& sizes) {
  BlockLayout layout;
  for (const std::int64_t size : sizes) {
    layout.offsets.push_back(layout.num_elements);
    layout.num_elements += (size + kViewAlignment - 1) / kViewAlignment * kViewAlignment;
  }
  return layout;
}

Shape local_tensor_shape(const ParameterSpec& spec) {
  const std::vector<std::int64_t> sizes = local_shape(spec);
  LOCKSTEP_CHECK(sizes.size() == 1 || sizes.size() == 2, spec.name + " has neither 1 nor 2 dims");
  return sizes.size() == 1 ? Shape{sizes[0]} : Shape{sizes[0], sizes[1]};
}

Parameters::Parameters(const OpContext& ops, const ParameterTable& table) {
  std::vector<std::int64_t> sizes;
  for (const ParameterSpec& spec : table) sizes.push_back(local_tensor_shape(spec).num_elements());
  const BlockLayout layout = lay_out(sizes);
  const Tensor block = new_tensor(ops, {layout.num_elements}, "parameters");
  fill(ops, block, 0.0, "init.zero");
  for (std::size_t i = 0; i < table.size(); ++i) {
    views_.push_back(
        block.rows(layout.offsets[i], sizes[i]).reshaped(local_tensor_shape(table[i])));
  }
}

Parameter Parameters::operator[](ParameterId id) const {
  return {.id = id, .value = views_.at(static_cast<std::size_t>(id.value))};
}

}  // namespace lockstep
