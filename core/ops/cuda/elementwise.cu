// Elementwise kernels, sums over columns and copies of them.
#include "core/ops/cpu/element.h"
#include "core/ops/cuda/bodies.h"
#include "core/ops/cuda/element.cuh"
#include "core/ops/cuda/sum.cuh"

namespace lockstep::cuda {
namespace {

template <typename T>
void weighted_sum_of(const LaunchTarget& target, const WeightedSumArgs& args) {
  using A = Accumulated<T>;
  const T* const x = elements<T>(args.x);
  const T* const weight = elements<T>(args.weight);
  T* const out = elements<T>(args.out);
  store_sum<A>(
      target,
      args.x.count,
      [=] __device__(std::int64_t i) { return widened(weight[i]) * widened(x[i]); },
      [=] __device__(A sum) { out[0] = rounded<T>(sum); });
}

template <typename T>
void fill_of(const LaunchTarget& target, const FillArgs& args) {
  T* const out = elements<T>(args.out);
  const T value = cpu::rounded_once<T>(args.value);
  for_each(target, args.out.count, [=] __device__(std::int64_t i) { out[i] = value; });
}

template <typename T>
void add_of(const LaunchTarget& target, const AddArgs& args) {
  const T* const a = elements<T>(args.a);
  const T* const b = elements<T>(args.b);
  T* const out = elements<T>(args.out);
  for_each(target, args.out.count, [=] __device__(std::int64_t i) {
    out[i] = rounded<T>(widened(a[i]) + widened(b[i]));
  });
}

// An f64 is added in f64 and the sum rounded once, where a detour over f32 would round a bf16
// twice.
template <typename T, typename X>
constexpr T sum_of(T sum, X x) {
  if constexpr (std::is_same_v<T, BF16> && std::is_same_v<X, double>) {
    return rounded_once_to_bf16(static_cast<double>(widened(sum)) + x);
  } else {
    return rounded<T>(static_cast<Accumulated<T>>(widened(sum) + widened(x)));
  }
}

template <typename X, typename T>
void accumulate_of(const LaunchTarget& target, const AccumulateArgs& args) {
  const X* const x = elements<X>(args.x);
  T* const out = elements<T>(args.out);
  for_each(
      target, args.out.count, [=] __device__(std::int64_t i) { out[i] = sum_of(out[i], x[i]); });
}

// An f64 becomes a bf16 in one rounding, without a detour over f32.
template <typename T, typename X>
constexpr T converted_to(X x) {
  if constexpr (std::is_same_v<T, BF16> && std::is_same_v<X, double>) {
    return rounded_once_to_bf16(x);
  } else {
    return rounded<T>(static_cast<Accumulated<T>>(widened(x)));
  }
}

template <typename X, typename T>
void convert_of(const LaunchTarget& target, const ConvertArgs& args) {
  const X* const x = elements<X>(args.x);
  T* const out = elements<T>(args.out);
  for_each(
      target, args.out.count, [=] __device__(std::int64_t i) { out[i] = converted_to<T>(x[i]); });
}

template <typename T>
void scale_of(const LaunchTarget& target, const ScaleArgs& args) {
  const T* const x = elements<T>(args.x);
  T* const out = elements<T>(args.out);
  const auto factor = static_cast<Accumulated<T>>(args.factor);
  for_each(target, args.out.count, [=] __device__(std::int64_t i) {
    out[i] = rounded<T>(widened(x[i]) * factor);
  });
}

template <typename T>
void scale_by_of(const LaunchTarget& target, const ScaleByArgs& args) {
  const T* const x = elements<T>(args.x);
  const T* const factor = elements<T>(args.factor);
  T* const out = elements<T>(args.out);
  for_each(target, args.out.count, [=] __device__(std::int64_t i) {
    out[i] = rounded<T>(widened(x[i]) * widened(factor[0]));
  });
}

template <typename T>
void add_bias_of(const LaunchTarget& target, const AddBiasArgs& args) {
  const std::int64_t columns = args.b_H.count;
  const T* const x = elements<T>(args.x_TH);
  const T* const b = elements<T>(args.b_H);
  T* const y = elements<T>(args.y_TH);
  for_each(target, args.x_TH.count, [=] __device__(std::int64_t i) {
    y[i] = rounded<T>(widened(x[i]) + widened(b[i % columns]));
  });
}

// A thread a column, which takes the rows in their order, as the CPU does.
template <typename T>
void column_sums_of(const LaunchTarget& target, const ColumnSumsArgs& args) {
  const std::int64_t columns = args.out_H.count;
  const std::int64_t rows = columns == 0 ? 0 : args.x_TH.count / columns;
  const T* const x = elements<T>(args.x_TH);
  T* const out = elements<T>(args.out_H);
  for_each(target, columns, [=] __device__(std::int64_t column) {
    Accumulated<T> sum{0};
    for (std::int64_t row = 0; row < rows; ++row) sum += widened(x[row * columns + column]);
    out[column] = rounded<T>(sum);
  });
}

template <typename Bits>
void copy_columns_of(const LaunchTarget& target, const CopyColumnsArgs& args) {
  const auto* const from = elements<Bits>(args.from) + args.from_first;
  auto* const to = elements<Bits>(args.to) + args.to_first;
  const std::int64_t width = args.width;
  const std::int64_t from_stride = args.from_stride;
  const std::int64_t to_stride = args.to_stride;
  for_each(target, args.rows * width, [=] __device__(std::int64_t i) {
    const std::int64_t row = i / width;
    const std::int64_t column = i % width;
    to[row * to_stride + column] = from[row * from_stride + column];
  });
}

}  // namespace

void weighted_sum(const LaunchTarget& target, const WeightedSumArgs& args) {
  with_type(args.x.dtype, [&]<typename T>(ElementType<T>) { weighted_sum_of<T>(target, args); });
}

void fill(const LaunchTarget& target, const FillArgs& args) {
  with_type(args.out.dtype, [&]<typename T>(ElementType<T>) { fill_of<T>(target, args); });
}

void add(const LaunchTarget& target, const AddArgs& args) {
  with_type(args.out.dtype, [&]<typename T>(ElementType<T>) { add_of<T>(target, args); });
}

void accumulate(const LaunchTarget& target, const AccumulateArgs& args) {
  with_type(args.x.dtype, [&]<typename X>(ElementType<X>) {
    with_type(args.out.dtype,
              [&]<typename T>(ElementType<T>) { accumulate_of<X, T>(target, args); });
  });
}

void convert(const LaunchTarget& target, const ConvertArgs& args) {
  with_type(args.x.dtype, [&]<typename X>(ElementType<X>) {
    with_type(args.out.dtype, [&]<typename T>(ElementType<T>) { convert_of<X, T>(target, args); });
  });
}

void scale(const LaunchTarget& target, const ScaleArgs& args) {
  with_type(args.x.dtype, [&]<typename T>(ElementType<T>) { scale_of<T>(target, args); });
}

void scale_by(const LaunchTarget& target, const ScaleByArgs& args) {
  with_type(args.x.dtype, [&]<typename T>(ElementType<T>) { scale_by_of<T>(target, args); });
}

void add_bias(const LaunchTarget& target, const AddBiasArgs& args) {
  with_type(args.x_TH.dtype, [&]<typename T>(ElementType<T>) { add_bias_of<T>(target, args); });
}

void column_sums(const LaunchTarget& target, const ColumnSumsArgs& args) {
  with_type(args.x_TH.dtype, [&]<typename T>(ElementType<T>) { column_sums_of<T>(target, args); });
}

void copy_columns(const LaunchTarget& target, const CopyColumnsArgs& args) {
  with_bits(args.from.dtype,
            [&]<typename Bits>(ElementType<Bits>) { copy_columns_of<Bits>(target, args); });
}

}  // namespace lockstep::cuda
