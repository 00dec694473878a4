// The launch of dropout.
#include "core/ops/dropout.h"

#include "core/base/errors.h"

namespace lockstep {

Tensor dropout(const OpContext& ops,
               const Tensor& x,
               const DropoutPlace& place,
               const Dropout& dropout) {
  const std::int64_t rows = place.rows.num_elements();
  LOCKSTEP_CHECK(place.rows.dtype == DType::kI64 && rows > 0 && x.num_elements() % rows == 0,
                 "dropout: x " + to_text(x.shape) + " has no row for each of " +
                     std::to_string(rows) + " indices");
  LOCKSTEP_CHECK(
      place.first_column >= 0 && place.first_column + x.num_elements() / rows <= place.width,
      "dropout: x " + to_text(x.shape) + " from column " + std::to_string(place.first_column) +
          " on leaves a width of " + std::to_string(place.width));
  const Tensor out = new_tensor(ops, x.dtype, x.shape, "dropout.out");
  const DropoutArgs args{.x_TH = x.buffer(),
                         .rows_T = place.rows.buffer(),
                         .out_TH = out.buffer(),
                         .width = place.width,
                         .first_column = place.first_column,
                         .dropout = dropout};
  launch_kernel(
      ops,
      "op.dropout",
      {.reads = {args.x_TH, args.rows_T}, .writes = {args.out_TH}, .flops = x.num_elements()},
      ops.kernels.dropout,
      args);
  return out;
}

}  // namespace lockstep
