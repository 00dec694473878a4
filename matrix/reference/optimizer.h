// The update of all parameters after a step.
#pragma once

#include "core/config/case.h"
#include "matrix/reference/parameters.h"

namespace lockstep::matrix {

// SGD: p -= lr g.
void update(const Recipe& recipe, const Tensors& gradients, Tensors& parameters);

}  // namespace lockstep::matrix
