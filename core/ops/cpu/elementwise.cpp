// Elementwise kernels, sums over columns and copies of them.
#include <cstring>

#include "core/ops/cpu/bodies.h"
#include "core/ops/cpu/element.h"

namespace lockstep::cpu {
namespace {

template <typename T>
void weighted_sum_of(const WeightedSumArgs& args) {
  const T* const x = elements<T>(args.x);
  const T* const weight = elements<T>(args.weight);
  Accumulated<T> sum{0};
  for (std::int64_t i = 0; i < args.x.count; ++i) sum += widened(weight[i]) * widened(x[i]);
  elements<T>(args.out)[0] = rounded<T>(sum);
}

template <typename T>
void add_of(const AddArgs& args) {
  const T* const a = elements<T>(args.a);
  const T* const b = elements<T>(args.b);
  T* const out = elements<T>(args.out);
  for (std::int64_t i = 0; i < args.out.count; ++i) {
    out[i] = rounded<T>(widened(a[i]) + widened(b[i]));
  }
}

template <typename X, typename T>
void accumulate_of(const AccumulateArgs& args) {
  const X* const x = elements<X>(args.x);
  T* const out = elements<T>(args.out);
  for (std::int64_t i = 0; i < args.out.count; ++i) {
    if constexpr (std::is_same_v<X, double> && !std::is_same_v<T, double>) {
      out[i] = rounded_once<T>(static_cast<double>(widened(out[i])) + x[i]);
    } else {
      out[i] = rounded<T>(widened(out[i]) + widened(x[i]));
    }
  }
}

template <typename T>
void multiply(const T* x, Accumulated<T> factor, const Buffer& out) {
  T* const product = elements<T>(out);
  for (std::int64_t i = 0; i < out.count; ++i) product[i] = rounded<T>(widened(x[i]) * factor);
}

template <typename T>
void add_bias_of(const AddBiasArgs& args) {
  const std::int64_t columns = args.b_H.count;
  const T* const b = elements<T>(args.b_H);
  for (std::int64_t row = 0; row < args.x_TH.count / columns; ++row) {
    const T* const x = elements<T>(args.x_TH) + row * columns;
    T* const y = elements<T>(args.y_TH) + row * columns;
    for (std::int64_t i = 0; i < columns; ++i) y[i] = rounded<T>(widened(x[i]) + widened(b[i]));
  }
}

template <typename T>
void column_sums_of(const ColumnSumsArgs& args) {
  const std::int64_t columns = args.out_H.count;
  Sums<T> sums(args.out_H);
  for (std::int64_t row = 0; row < args.x_TH.count / columns; ++row) {
    const T* const x = elements<T>(args.x_TH) + row * columns;
    for (std::int64_t i = 0; i < columns; ++i) sums.data()[i] += widened(x[i]);
  }
  sums.store();
}

template <typename X, typename T>
void convert_of(const ConvertArgs& args) {
  const X* const x = elements<X>(args.x);
  T* const out = elements<T>(args.out);
  for (std::int64_t i = 0; i < args.out.count; ++i) {
    out[i] = rounded_once<T>(static_cast<double>(widened(x[i])));
  }
}

}  // namespace

void weighted_sum(const LaunchTarget&, const WeightedSumArgs& args) {
  with_type(args.x.dtype, [&]<typename T>(ElementType<T>) { weighted_sum_of<T>(args); });
}

void fill(const LaunchTarget&, const FillArgs& args) {
  with_type(args.out.dtype, [&]<typename T>(ElementType<T>) {
    std::fill_n(elements<T>(args.out), args.out.count, rounded_once<T>(args.value));
  });
}

void add(const LaunchTarget&, const AddArgs& args) {
  with_type(args.out.dtype, [&]<typename T>(ElementType<T>) { add_of<T>(args); });
}

void accumulate(const LaunchTarget&, const AccumulateArgs& args) {
  with_type(args.x.dtype, [&]<typename X>(ElementType<X>) {
    with_type(args.out.dtype, [&]<typename T>(ElementType<T>) { accumulate_of<X, T>(args); });
  });
}

void convert(const LaunchTarget&, const ConvertArgs& args) {
  with_type(args.x.dtype, [&]<typename X>(ElementType<X>) {
    with_type(args.out.dtype, [&]<typename T>(ElementType<T>) { convert_of<X, T>(args); });
  });
}

void scale(const LaunchTarget&, const ScaleArgs& args) {
  with_type(args.x.dtype, [&]<typename T>(ElementType<T>) {
    multiply(elements<T>(args.x), static_cast<Accumulated<T>>(args.factor), args.out);
  });
}

void scale_by(const LaunchTarget&, const ScaleByArgs& args) {
  with_type(args.x.dtype, [&]<typename T>(ElementType<T>) {
    multiply(elements<T>(args.x), widened(elements<T>(args.factor)[0]), args.out);
  });
}

void add_bias(const LaunchTarget&, const AddBiasArgs& args) {
  with_type(args.x_TH.dtype, [&]<typename T>(ElementType<T>) { add_bias_of<T>(args); });
}

void column_sums(const LaunchTarget&, const ColumnSumsArgs& args) {
  with_type(args.x_TH.dtype, [&]<typename T>(ElementType<T>) { column_sums_of<T>(args); });
}

// Moves elements of any type as they are.
void copy_columns(const LaunchTarget&, const CopyColumnsArgs& args) {
  const std::int64_t size = element_bytes(args.from.dtype);
  for (std::int64_t row = 0; row < args.rows; ++row) {
    std::memcpy(args.to.bytes() + (row * args.to_stride + args.to_first) * size,
                args.from.bytes() + (row * args.from_stride + args.from_first) * size,
                static_cast<std::size_t>(args.width * size));
  }
}

}  // namespace lockstep::cpu
