// Dropout of rows that are part of a larger tensor.
#include "core/ops/cuda/bodies.h"
#include "core/ops/cuda/dropout.cuh"
#include "core/ops/cuda/element.cuh"

namespace lockstep::cuda {
namespace {

template <typename T>
void dropout_of(const LaunchTarget& target, const DropoutArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t rows = args.rows_T.count;
  const std::int64_t columns = rows == 0 ? 0 : args.x_TH.count / rows;
  const T* const x = elements<T>(args.x_TH);
  const std::int64_t* const row_of = elements<std::int64_t>(args.rows_T);
  T* const out = elements<T>(args.out_TH);
  const Keeping<A> keep = keeping_of<A>(args.dropout);
  const std::int64_t width = args.width;
  const std::int64_t first_column = args.first_column;
  for_each(target, rows * columns, [=] __device__(std::int64_t i) {
    const std::int64_t row = row_of[i / columns];
    out[i] =
        row < 0 ? x[i] : rounded<T>(widened(x[i]) * keep(row * width + first_column + i % columns));
  });
}

}  // namespace

void dropout(const LaunchTarget& target, const DropoutArgs& args) {
  with_type(args.x_TH.dtype, [&]<typename T>(ElementType<T>) { dropout_of<T>(target, args); });
}

}  // namespace lockstep::cuda
