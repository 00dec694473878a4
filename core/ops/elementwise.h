// Elementwise ops, sums and copies. Unless they say more, two tensors need only be of equal size
// and type, and a new one has the shape and type of the first.
#pragma once

#include "core/ops/context.h"

namespace lockstep {

// y = x sigmoid(x)
Tensor silu(const OpContext& ops, const Tensor& x);
// What backward needs of the forward pass.
struct SiluSaved {
  Tensor x;
};
Tensor silu_backward(const OpContext& ops, const SiluSaved& saved, const Tensor& dy);

// silu(gate) up of rows [gate | up]: [..., 2F] to [..., F]
Tensor gated_silu(const OpContext& ops, const Tensor& x);
struct GatedSiluSaved {
  Tensor x;
};
Tensor gated_silu_backward(const OpContext& ops, const GatedSiluSaved& saved, const Tensor& dy);

// a + b as a new tensor
Tensor add(const OpContext& ops, const Tensor& a, const Tensor& b);

void fill(const OpContext& ops, const Tensor& out, double value, std::string_view label);
// sum += x, which may be of another type
struct Accumulation {
  Tensor x;
  Tensor sum;
};
void accumulate(const OpContext& ops, const Accumulation& accumulation, std::string_view label);
// x as a new tensor of another type
Tensor converted(const OpContext& ops, const Tensor& x, DType dtype);
// x *= factor
void scale_in_place(const OpContext& ops, const Tensor& x, double factor, std::string_view label);
// factor * x with a factor [1] on the device
Tensor scaled_by(const OpContext& ops, const Tensor& x, const Tensor& factor);

// [1]: sum of weight * x in the device's own, fixed order.
Tensor weighted_sum(const OpContext& ops, const Tensor& x, const Tensor& weight);

// Columns [first, first + count) of the last dim, as a new tensor.
Tensor columns(const OpContext& ops, const Tensor& x, std::int64_t first, std::int64_t count);
// Its adjoint: x as the columns from `first` on of `width`, zeros in all others.
Tensor columns_padded(const OpContext& ops,
                      const Tensor& x,
                      std::int64_t first,
                      std::int64_t width);
// The inverse of columns_joined: [rows, num_parts * width] to parts [num_parts, rows, width].
Tensor columns_split(const OpContext& ops, const Tensor& x, std::int64_t num_parts);
// Parts [num_parts, rows, width] side by side: [rows, num_parts * width] with `shape`.
Tensor columns_joined(const OpContext& ops,
                      const Tensor& parts,
                      std::int64_t num_parts,
                      const Shape& shape);

}  // namespace lockstep
