// A rank's parameters: one block of memory, each tensor a view that starts on a 64-element border.
#pragma once

#include <cstdint>
#include <vector>

#include "core/autograd/tape.h"
#include "core/ops/context.h"
#include "core/parallel/placement.h"

namespace lockstep {

// Views start here, so that no result depends on what lies before them.
inline constexpr std::int64_t kViewAlignment = 64;  // elements

// Offsets of tensors laid one after the other on aligned borders.
struct BlockLayout {
  std::vector<std::int64_t> offsets;
  std::int64_t num_elements = 0;
};
BlockLayout lay_out(const std::vector<std::int64_t>& sizes);

Shape local_tensor_shape(const ParameterSpec& spec);

class Parameters {
 public:
  // Zeroed: padded rows and the gaps between views stay zero.
  Parameters(const OpContext& ops, const ParameterTable& table);

  Parameter operator[](ParameterId id) const;
  std::size_t size() const { return views_.size(); }

 private:
  std::vector<Tensor> views_;
};

}  // namespace lockstep
