// Dropout by index in the full tensor, so that every part of it is dropped as the whole is.
#pragma once

#include "core/ops/context.h"

namespace lockstep {

// Of x [T, H], whose rows are those of a full [tokens, width] tensor that `rows` [T] says (-1:
// padding, left as it is), and whose columns are `first_column` and on: see DropoutArgs. Its own
// adjoint.
struct DropoutPlace {
  Tensor rows;
  std::int64_t width = 0;
  std::int64_t first_column = 0;
};
Tensor dropout(const OpContext& ops,
               const Tensor& x,
               const DropoutPlace& place,
               const Dropout& dropout);

}  // namespace lockstep
