// The seam between backward passes and gradient reduction: where parameters' gradients go.
#pragma once

#include "core/tensor/tensor.h"

namespace lockstep {

// Index of a parameter in the model's table.
struct ParameterId {
  int value = 0;
  auto operator<=>(const ParameterId&) const = default;
};

class GradientSink {
 public:
  virtual ~GradientSink() = default;

  // Adds one use's gradient, of the parameter's local shape, to the main gradient.
  virtual void accumulate(ParameterId parameter, const Tensor& gradient) = 0;
  // The parameter has no further use in this backward pass.
  virtual void finished(ParameterId parameter) = 0;
};

}  // namespace lockstep
