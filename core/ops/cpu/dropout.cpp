// Dropout by index in the full tensor.
#include "core/ops/cpu/bodies.h"
#include "core/ops/cpu/drop.h"
#include "core/ops/cpu/element.h"

namespace lockstep::cpu {
namespace {

template <typename T>
void dropout_of(const DropoutArgs& args) {
  const std::int64_t columns = args.x_TH.count / args.rows_T.count;
  const auto* const rows = elements<std::int64_t>(args.rows_T);
  for (std::int64_t t = 0; t < args.rows_T.count; ++t) {
    const T* const x = elements<T>(args.x_TH) + t * columns;
    T* const out = elements<T>(args.out_TH) + t * columns;
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::int64_t index = rows[t] * args.width + args.first_column + j;
      out[j] = rows[t] < 0
                   ? x[j]
                   : rounded<T>(widened(x[j]) * drop_factor<Accumulated<T>>(args.dropout, index));
    }
  }
}

}  // namespace

void dropout(const LaunchTarget&, const DropoutArgs& args) {
  with_type(args.x_TH.dtype, [&]<typename T>(ElementType<T>) { dropout_of<T>(args); });
}

}  // namespace lockstep::cpu
