// RMS and layer norm, the CPU's formulas: a block a row, whose sums are in row.cuh's fixed order.
#include <cmath>

#include "core/ops/cuda/bodies.h"
#include "core/ops/cuda/element.cuh"
#include "core/ops/cuda/row.cuh"

namespace lockstep::cuda {
namespace {

template <typename T>
void rms_norm_of(const LaunchTarget& target, const RmsNormArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t columns = args.g_H.count;
  const T* const x_TH = elements<T>(args.x_TH);
  const T* const g = elements<T>(args.g_H);
  T* const y_TH = elements<T>(args.y_TH);
  A* const inverse_rms = elements<A>(args.inverse_rms_T);
  const A eps = static_cast<A>(args.eps);
  for_each_row(target, args.x_TH.count / columns, columns, [=] __device__(std::int64_t row) {
    const T* const x = x_TH + row * columns;
    T* const y = y_TH + row * columns;
    const A squares =
        sum_over_block<A>(columns, [&](std::int64_t i) { return widened(x[i]) * widened(x[i]); });
    const A s = A{1} / std::sqrt(squares / static_cast<A>(columns) + eps);
    if (threadIdx.x == 0) inverse_rms[row] = s;
    for (std::int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
      y[i] = rounded<T>(widened(x[i]) * s * widened(g[i]));
    }
  });
}

// With s = 1/r: dx_i = s (g_i dy_i - x_i s^2 mean_j(g_j dy_j x_j)).
template <typename T>
void rms_norm_backward_input_of(const LaunchTarget& target, const RmsNormBackwardArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t columns = args.g_H.count;
  const T* const x_TH = elements<T>(args.x_TH);
  const T* const g = elements<T>(args.g_H);
  const T* const dy_TH = elements<T>(args.dy_TH);
  const A* const inverse_rms = elements<A>(args.inverse_rms_T);
  T* const dx_TH = elements<T>(args.out);
  for_each_row(target, args.x_TH.count / columns, columns, [=] __device__(std::int64_t row) {
    const T* const x = x_TH + row * columns;
    const T* const dy = dy_TH + row * columns;
    T* const dx = dx_TH + row * columns;
    const A s = inverse_rms[row];
    const A dot = sum_over_block<A>(
        columns, [&](std::int64_t i) { return widened(g[i]) * widened(dy[i]) * widened(x[i]); });
    const A shared = s * s * dot / static_cast<A>(columns);
    for (std::int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
      dx[i] = rounded<T>(s * (widened(g[i]) * widened(dy[i]) - widened(x[i]) * shared));
    }
  });
}

template <typename T>
void layer_norm_of(const LaunchTarget& target, const LayerNormArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t columns = args.g_H.count;
  const T* const x_TH = elements<T>(args.x_TH);
  const T* const g = elements<T>(args.g_H);
  const T* const b = elements<T>(args.b_H);
  T* const y_TH = elements<T>(args.y_TH);
  A* const means = elements<A>(args.mean_T);
  A* const inverse_std = elements<A>(args.inverse_std_T);
  const A eps = static_cast<A>(args.eps);
  for_each_row(target, args.x_TH.count / columns, columns, [=] __device__(std::int64_t row) {
    const T* const x = x_TH + row * columns;
    T* const y = y_TH + row * columns;
    const A sum = sum_over_block<A>(columns, [&](std::int64_t i) { return widened(x[i]); });
    const A mean = sum / static_cast<A>(columns);
    const A squares = sum_over_block<A>(
        columns, [&](std::int64_t i) { return (widened(x[i]) - mean) * (widened(x[i]) - mean); });
    const A s = A{1} / std::sqrt(squares / static_cast<A>(columns) + eps);
    if (threadIdx.x == 0) {
      means[row] = mean;
      inverse_std[row] = s;
    }
    for (std::int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
      y[i] = rounded<T>((widened(x[i]) - mean) * s * widened(g[i]) + widened(b[i]));
    }
  });
}

// With n = (x - mean) s: dx_i = s (g_i dy_i - mean_j(g_j dy_j) - n_i mean_j(g_j dy_j n_j)).
template <typename T>
void layer_norm_backward_input_of(const LaunchTarget& target, const LayerNormBackwardArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t columns = args.g_H.count;
  const T* const x_TH = elements<T>(args.x_TH);
  const T* const g = elements<T>(args.g_H);
  const T* const dy_TH = elements<T>(args.dy_TH);
  const A* const means = elements<A>(args.mean_T);
  const A* const inverse_std = elements<A>(args.inverse_std_T);
  T* const dx_TH = elements<T>(args.out);
  for_each_row(target, args.x_TH.count / columns, columns, [=] __device__(std::int64_t row) {
    const T* const x = x_TH + row * columns;
    const T* const dy = dy_TH + row * columns;
    T* const dx = dx_TH + row * columns;
    const A mean = means[row];
    const A s = inverse_std[row];
    const auto scaled = [&](std::int64_t i) { return widened(g[i]) * widened(dy[i]); };
    const auto normed = [&](std::int64_t i) { return (widened(x[i]) - mean) * s; };
    const A sum = sum_over_block<A>(columns, scaled);
    const A dot = sum_over_block<A>(columns, [&](std::int64_t i) { return scaled(i) * normed(i); });
    const A sum_mean = sum / static_cast<A>(columns);
    const A dot_mean = dot / static_cast<A>(columns);
    for (std::int64_t i = threadIdx.x; i < columns; i += blockDim.x) {
      dx[i] = rounded<T>(s * (scaled(i) - sum_mean - normed(i) * dot_mean));
    }
  });
}

// A block's share of the sums over rows: a warp's width of columns, the rows dealt to its slices.
constexpr int kColumns = kWarp;
constexpr int kSlices = 32;

// out[i] = sum over rows of term(row, i): a slice's rows in order, then the slices in order. So up
// to kSlices rows are summed in the CPU's order.
template <typename T, typename Term>
__global__ void __launch_bounds__(kColumns* kSlices)
    sum_rows_kernel(std::int64_t rows, std::int64_t columns, T* out, Term term) {
  using A = Accumulated<T>;
  __shared__ A of_slices[kSlices][kColumns];
  const int slice = static_cast<int>(threadIdx.y);
  for (std::int64_t first = std::int64_t{blockIdx.x} * kColumns; first < columns;
       first += std::int64_t{gridDim.x} * kColumns) {
    const std::int64_t i = first + threadIdx.x;
    A sum{0};
    for (std::int64_t row = slice; row < rows && i < columns; row += kSlices) sum += term(row, i);
    of_slices[slice][threadIdx.x] = sum;
    __syncthreads();
    if (slice == 0 && i < columns) {
      for (int other = 1; other < kSlices; ++other) sum += of_slices[other][threadIdx.x];
      out[i] = rounded<T>(sum);
    }
    __syncthreads();
  }
}

template <typename T, typename Term>
void sum_rows(const LaunchTarget& target, std::int64_t rows, const Buffer& out_H, Term term) {
  constexpr std::int64_t kMaxBlocks = 1 << 20;
  if (out_H.count == 0) return;
  const std::int64_t blocks = std::min(kMaxBlocks, (out_H.count + kColumns - 1) / kColumns);
  sum_rows_kernel<T>
      <<<static_cast<unsigned>(blocks), dim3(kColumns, kSlices), 0, stream_of(target)>>>(
          rows, out_H.count, elements<T>(out_H), term);
}

// dg_i = sum over rows of dy_i x_i s.
template <typename T>
void rms_norm_backward_weight_of(const LaunchTarget& target, const RmsNormBackwardArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t columns = args.g_H.count;
  const T* const x_TH = elements<T>(args.x_TH);
  const T* const dy_TH = elements<T>(args.dy_TH);
  const A* const inverse_rms = elements<A>(args.inverse_rms_T);
  sum_rows<T>(target,
              args.x_TH.count / columns,
              args.out,
              [=] __device__(std::int64_t row, std::int64_t i) -> A {
                const std::int64_t at = row * columns + i;
                return widened(dy_TH[at]) * widened(x_TH[at]) * inverse_rms[row];
              });
}

// dg_i = sum over rows of dy_i (x_i - mean) s.
template <typename T>
void layer_norm_backward_weight_of(const LaunchTarget& target, const LayerNormBackwardArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t columns = args.g_H.count;
  const T* const x_TH = elements<T>(args.x_TH);
  const T* const dy_TH = elements<T>(args.dy_TH);
  const A* const means = elements<A>(args.mean_T);
  const A* const inverse_std = elements<A>(args.inverse_std_T);
  sum_rows<T>(target,
              args.x_TH.count / columns,
              args.out,
              [=] __device__(std::int64_t row, std::int64_t i) -> A {
                const std::int64_t at = row * columns + i;
                return widened(dy_TH[at]) * ((widened(x_TH[at]) - means[row]) * inverse_std[row]);
              });
}

}  // namespace

void rms_norm(const LaunchTarget& target, const RmsNormArgs& args) {
  with_type(args.x_TH.dtype, [&]<typename T>(ElementType<T>) { rms_norm_of<T>(target, args); });
}

void rms_norm_backward_input(const LaunchTarget& target, const RmsNormBackwardArgs& args) {
  with_type(args.x_TH.dtype,
            [&]<typename T>(ElementType<T>) { rms_norm_backward_input_of<T>(target, args); });
}

void rms_norm_backward_weight(const LaunchTarget& target, const RmsNormBackwardArgs& args) {
  with_type(args.x_TH.dtype,
            [&]<typename T>(ElementType<T>) { rms_norm_backward_weight_of<T>(target, args); });
}

void layer_norm(const LaunchTarget& target, const LayerNormArgs& args) {
  with_type(args.x_TH.dtype, [&]<typename T>(ElementType<T>) { layer_norm_of<T>(target, args); });
}

void layer_norm_backward_input(const LaunchTarget& target, const LayerNormBackwardArgs& args) {
  with_type(args.x_TH.dtype,
            [&]<typename T>(ElementType<T>) { layer_norm_backward_input_of<T>(target, args); });
}

void layer_norm_backward_weight(const LaunchTarget& target, const LayerNormBackwardArgs& args) {
  with_type(args.x_TH.dtype,
            [&]<typename T>(ElementType<T>) { layer_norm_backward_weight_of<T>(target, args); });
}

}  // namespace lockstep::cuda
