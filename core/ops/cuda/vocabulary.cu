// What works on a vocabulary shard: embedding rows, and the pieces of cross entropy.
//
// A negative id, as memory that nobody wrote has it, is an error on the CPU; a kernel cannot throw,
// so its row, or its label's logit, is NaN.
#include <cmath>
#include <limits>

#include "core/ops/cuda/bodies.h"
#include "core/ops/cuda/element.cuh"
#include "core/ops/cuda/row.cuh"

namespace lockstep::cuda {
namespace {

// Row or column of the shard for a global id, -1 where it has none.
constexpr std::int64_t local_row(std::int64_t id, std::int64_t first_row, std::int64_t rows) {
  return id >= first_row && id < first_row + rows ? id - first_row : -1;
}

std::int64_t num_columns(const LogitsArgs& args) {
  return args.labels_T.count == 0 ? 0 : args.logits_TV.count / args.labels_T.count;
}

template <typename T>
void embedding_of(const LaunchTarget& target, const EmbeddingArgs& args) {
  if (args.out_TH.count == 0) return;
  const std::int64_t tokens = args.ids_T.count;
  const std::int64_t width = args.out_TH.count / tokens;
  const std::int64_t rows = args.weight_VH.count / width;
  const std::int64_t first_row = args.first_row;
  const auto* const ids = elements<std::int64_t>(args.ids_T);
  const T* const weight_VH = elements<T>(args.weight_VH);
  T* const out_TH = elements<T>(args.out_TH);
  for_each_row(target, tokens, width, [=] __device__(std::int64_t t) {
    const std::int64_t row = local_row(ids[t], first_row, rows);
    const T other = rounded<T>(ids[t] < 0 ? std::numeric_limits<Accumulated<T>>::quiet_NaN() : 0);
    for (std::int64_t i = threadIdx.x; i < width; i += blockDim.x) {
      out_TH[t * width + i] = row < 0 ? other : weight_VH[row * width + i];
    }
  });
}

// Columns of a gradient's row that a block sums at a time.
constexpr std::int64_t kTileColumns = 8 * kThreads;

// Rows of dout for the tokens whose id is `id`, in their order, added to sums[column - first] of
// columns [first, first + count). A thread adds to the same columns at every call.
template <typename T>
struct MatchingRows {
  const std::int64_t* ids;
  std::int64_t tokens;
  const T* dout_TH;
  std::int64_t width;

  __device__ void add_to(Accumulated<T>* sums,
                         std::int64_t id,
                         std::int64_t first,
                         std::int64_t count) const {
    __shared__ unsigned of_warps[kThreads / kWarp];  // a bit for each token that matches
    for (std::int64_t base = 0; base < tokens; base += kThreads) {
      const std::int64_t mine = base + threadIdx.x;
      const bool matches = mine < tokens && ids[mine] == id;
      if (__syncthreads_or(matches ? 1 : 0) == 0) continue;
      const unsigned of_warp = __ballot_sync(0xffffffffU, matches);
      if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = of_warp;
      __syncthreads();
      for (int warp = 0; warp < kThreads / kWarp; ++warp) {
        for (unsigned left = of_warps[warp]; left != 0; left &= left - 1) {
          const std::int64_t token = base + warp * kWarp + __ffs(static_cast<int>(left)) - 1;
          const T* const dout = dout_TH + token * width + first;
          for (std::int64_t i = threadIdx.x; i < count; i += kThreads) sums[i] += widened(dout[i]);
        }
      }
      // Before of_warps is written again, all threads meet at the next __syncthreads_or.
    }
  }
};

// A block a row of the shard and tile of columns: it looks through all ids together.
template <typename T>
__global__ void __launch_bounds__(kThreads) embedding_backward_kernel(MatchingRows<T> matching,
                                                                      std::int64_t first_row,
                                                                      std::int64_t rows,
                                                                      T* dweight_VH) {
  __shared__ Accumulated<T> sums[kTileColumns];
  const std::int64_t width = matching.width;
  const std::int64_t tiles = (width + kTileColumns - 1) / kTileColumns;
  for (std::int64_t unit = blockIdx.x; unit < rows * tiles; unit += gridDim.x) {
    const std::int64_t row = unit / tiles;
    const std::int64_t first = unit % tiles * kTileColumns;
    const std::int64_t left = width - first;
    const std::int64_t count = left < kTileColumns ? left : kTileColumns;
    for (std::int64_t i = threadIdx.x; i < count; i += kThreads) sums[i] = 0;
    matching.add_to(sums, first_row + row, first, count);
    T* const dweight = dweight_VH + row * width + first;
    for (std::int64_t i = threadIdx.x; i < count; i += kThreads) dweight[i] = rounded<T>(sums[i]);
  }
}

template <typename T>
void embedding_backward_of(const LaunchTarget& target, const EmbeddingBackwardArgs& args) {
  constexpr std::int64_t kMaxBlocks = 1 << 20;
  if (args.dweight_VH.count == 0) return;
  const std::int64_t tokens = args.ids_T.count;
  // Without tokens the width is not known: one row of all of dweight is as good.
  const std::int64_t width = tokens == 0 ? args.dweight_VH.count : args.dout_TH.count / tokens;
  const std::int64_t rows = args.dweight_VH.count / width;
  const std::int64_t units = rows * ((width + kTileColumns - 1) / kTileColumns);
  embedding_backward_kernel<T>
      <<<static_cast<unsigned>(std::min(units, kMaxBlocks)), kThreads, 0, stream_of(target)>>>(
          {.ids = elements<std::int64_t>(args.ids_T),
           .tokens = tokens,
           .dout_TH = elements<T>(args.dout_TH),
           .width = width},
          args.first_row,
          rows,
          elements<T>(args.dweight_VH));
}

template <typename T>
void logits_max_of(const LaunchTarget& target, const LogitsMaxArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t columns = num_columns(args.logits);
  const std::int64_t num_real = args.logits.num_real;
  const T* const logits_TV = elements<T>(args.logits.logits_TV);
  A* const max_T = elements<A>(args.max_T);
  for_each_row(target, args.max_T.count, num_real, [=] __device__(std::int64_t t) {
    const T* const z = logits_TV + t * columns;
    A largest = -std::numeric_limits<A>::infinity();
    for (std::int64_t j = threadIdx.x; j < num_real; j += blockDim.x) {
      largest = Larger{}(largest, widened(z[j]));
    }
    largest = reduced_over_block(largest, Larger{});
    if (threadIdx.x == 0) max_T[t] = largest;
  });
}

template <typename T>
void logits_stats_of(const LaunchTarget& target, const LogitsStatsArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t columns = num_columns(args.logits);
  const std::int64_t tokens = args.max_T.count;
  const std::int64_t num_real = args.logits.num_real;
  const std::int64_t first_row = args.logits.first_row;
  const T* const logits_TV = elements<T>(args.logits.logits_TV);
  const auto* const labels = elements<std::int64_t>(args.logits.labels_T);
  const A* const max_T = elements<A>(args.max_T);
  A* const stats = elements<A>(args.stats_3T);
  for_each_row(target, tokens, num_real, [=] __device__(std::int64_t t) {
    const T* const z = logits_TV + t * columns;
    const A largest = max_T[t];
    const A exponentials = sum_over_block<A>(
        num_real, [&](std::int64_t j) { return std::exp(widened(z[j]) - largest); });
    const A differences =
        sum_over_block<A>(num_real, [&](std::int64_t j) { return widened(z[j]) - largest; });
    if (threadIdx.x != 0) return;
    const std::int64_t label = local_row(labels[t], first_row, num_real);
    const A other = labels[t] < 0 ? std::numeric_limits<A>::quiet_NaN() : A{0};
    stats[t] = label < 0 ? other : widened(z[label]) - largest;
    stats[tokens + t] = exponentials;
    stats[2 * tokens + t] = differences;
  });
}

// What a label and what every id weigh.
template <typename A>
struct Weights {
  explicit Weights(const LabelSmoothing& smoothing)
      : label(static_cast<A>(1.0 - smoothing.weight)),
        every(static_cast<A>(smoothing.weight / static_cast<double>(smoothing.vocabulary))) {}

  A label;
  A every;
};

template <typename A>
void token_loss_of(const LaunchTarget& target, const TokenLossArgs& args) {
  const std::int64_t tokens = args.loss_T.count;
  const A* const stats = elements<A>(args.stats_3T);
  A* const loss_T = elements<A>(args.loss_T);
  const Weights<A> weights(args.smoothing);
  for_each(target, tokens, [=] __device__(std::int64_t t) {
    loss_T[t] = std::log(stats[tokens + t]) - weights.label * stats[t] -
                weights.every * stats[2 * tokens + t];
  });
}

template <typename T>
void logits_backward_of(const LaunchTarget& target, const LogitsBackwardArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t columns = num_columns(args.logits);
  const std::int64_t tokens = args.max_T.count;
  const std::int64_t num_real = args.logits.num_real;
  const std::int64_t first_row = args.logits.first_row;
  const T* const logits_TV = elements<T>(args.logits.logits_TV);
  const auto* const labels = elements<std::int64_t>(args.logits.labels_T);
  const A* const max_T = elements<A>(args.max_T);
  const A* const stats = elements<A>(args.stats_3T);
  const A* const dloss_T = elements<A>(args.dloss_T);
  T* const dlogits_TV = elements<T>(args.dlogits_TV);
  const Weights<A> weights(args.smoothing);
  for_each_row(target, tokens, columns, [=] __device__(std::int64_t t) {
    const T* const z = logits_TV + t * columns;
    T* const dz = dlogits_TV + t * columns;
    const A largest = max_T[t];
    const A exponentials = stats[tokens + t];
    const A dloss = dloss_T[t];
    const std::int64_t label = local_row(labels[t], first_row, num_real);
    for (std::int64_t j = threadIdx.x; j < num_real; j += blockDim.x) {
      const A probability = std::exp(widened(z[j]) - largest) / exponentials;
      const A label_weight = j == label ? weights.label : A{0};
      dz[j] = rounded<T>(dloss * (probability - label_weight - weights.every));
    }
    for (std::int64_t j = num_real + threadIdx.x; j < columns; j += blockDim.x) dz[j] = T{0};
  });
}

}  // namespace

void embedding(const LaunchTarget& target, const EmbeddingArgs& args) {
  with_type(args.out_TH.dtype, [&]<typename T>(ElementType<T>) { embedding_of<T>(target, args); });
}

void embedding_backward(const LaunchTarget& target, const EmbeddingBackwardArgs& args) {
  with_type(args.dout_TH.dtype,
            [&]<typename T>(ElementType<T>) { embedding_backward_of<T>(target, args); });
}

void logits_max(const LaunchTarget& target, const LogitsMaxArgs& args) {
  with_type(args.logits.logits_TV.dtype,
            [&]<typename T>(ElementType<T>) { logits_max_of<T>(target, args); });
}

void logits_stats(const LaunchTarget& target, const LogitsStatsArgs& args) {
  with_type(args.logits.logits_TV.dtype,
            [&]<typename T>(ElementType<T>) { logits_stats_of<T>(target, args); });
}

void token_loss(const LaunchTarget& target, const TokenLossArgs& args) {
  with_type(args.stats_3T.dtype,
            [&]<typename T>(ElementType<T>) { token_loss_of<Accumulated<T>>(target, args); });
}

void logits_backward(const LaunchTarget& target, const LogitsBackwardArgs& args) {
  with_type(args.logits.logits_TV.dtype,
            [&]<typename T>(ElementType<T>) { logits_backward_of<T>(target, args); });
}

}  // namespace lockstep::cuda
