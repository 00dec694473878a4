// The table of kernels that a device offers: one entry a computation, on dense row-major buffers.
//
// Outputs are assigned unless a comment says that they accumulate. T rows (tokens), H columns.
// An entry may be replaced by a wrong variant (a defect); callers never name a kernel directly.
#pragma once

#include <cstdint>

#include "core/tensor/device.h"

namespace lockstep {

// C[m,n] = op(A) op(B); A is [m,k] or, transposed, [k,m]; B alike.
struct MatmulArgs {
  Buffer a;
  Buffer b;
  Buffer c;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool transpose_a = false;
  bool transpose_b = false;
};

// y = x / r * g with r = sqrt(mean(x^2) + eps) of each row. inverse_rms[T] = 1 / r.
struct RmsNormArgs {
  Buffer x_TH;
  Buffer g_H;
  Buffer y_TH;
  Buffer inverse_rms_T;
  double eps = 0.0;
};

// dx, or dg (summed over the rows in their order), from dy.
struct RmsNormBackwardArgs {
  Buffer x_TH;
  Buffer g_H;
  Buffer inverse_rms_T;
  Buffer dy_TH;
  Buffer out;
};

// out = f(x), or out = dy f'(x).
struct UnaryArgs {
  Buffer x;
  Buffer out;
};
struct UnaryBackwardArgs {
  Buffer x;
  Buffer dy;
  Buffer out;
};

// Rows of a vocabulary shard that starts at `first_row`; other ids give zero rows.
struct EmbeddingArgs {
  Buffer ids_T;
  Buffer weight_VH;
  Buffer out_TH;
  std::int64_t first_row = 0;
};
// dweight[V,H], all of it: rows summed in the order of the tokens.
struct EmbeddingBackwardArgs {
  Buffer ids_T;
  Buffer dout_TH;
  Buffer dweight_VH;
  std::int64_t first_row = 0;
};

// One vocabulary shard of logits: columns [0, num_real) are real, the rest is padding, as if -inf.
struct LogitsArgs {
  Buffer logits_TV;
  Buffer labels_T;  // ids over the whole vocabulary
  std::int64_t first_row = 0;
  std::int64_t num_real = 0;
};
struct LogitsMaxArgs {
  LogitsArgs logits;
  Buffer max_T;  // -inf for a shard that is all padding
};
// stats[0,t] = z[label] - max, 0 where another shard owns the label; stats[1,t] = sum exp(z - max).
struct LogitsStatsArgs {
  LogitsArgs logits;
  Buffer max_T;
  Buffer stats_2T;
};
// dlogits = dloss (exp(z - max) / stats[1] - [label]), 0 in padding.
struct LogitsBackwardArgs {
  LogitsArgs logits;
  Buffer max_T;
  Buffer stats_2T;
  Buffer dloss_T;
  Buffer dlogits_TV;
};
// loss[t] = log stats[1,t] - stats[0,t].
struct TokenLossArgs {
  Buffer stats_2T;
  Buffer loss_T;
};

// out[0] = sum of weight * x in order.
struct WeightedSumArgs {
  Buffer x;
  Buffer weight;
  Buffer out;
};

struct FillArgs {
  Buffer out;
  double value = 0.0;
};
struct AddArgs {
  Buffer a;
  Buffer b;
  Buffer out;
};
// out += x; out may not overlap x.
struct AccumulateArgs {
  Buffer x;
  Buffer out;
};
// out = factor * x; out may be x.
struct ScaleArgs {
  Buffer x;
  Buffer out;
  double factor = 1.0;
};
// out = factor[0] * x, the factor being on the device.
struct ScaleByArgs {
  Buffer x;
  Buffer factor;
  Buffer out;
};
// `rows` rows of `width` elements between two buffers with their own row lengths and first columns.
struct CopyColumnsArgs {
  Buffer from;
  Buffer to;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::int64_t from_stride = 0;
  std::int64_t from_first = 0;
  std::int64_t to_stride = 0;
  std::int64_t to_first = 0;
};
// Between host doubles or integers and a buffer of the device.
struct FromHostArgs {
  const void* from = nullptr;
  Buffer to;
};
struct ToHostArgs {
  Buffer from;
  void* to = nullptr;
};
// p -= lr g.
struct SgdArgs {
  Buffer parameter;
  Buffer gradient;
  double lr = 0.0;
};

template <typename Args>
using Kernel = void (*)(const LaunchTarget&, const Args&);

struct KernelTable {
  Kernel<MatmulArgs> matmul;
  Kernel<RmsNormArgs> rms_norm;
  Kernel<RmsNormBackwardArgs> rms_norm_backward_input;
  Kernel<RmsNormBackwardArgs> rms_norm_backward_weight;
  Kernel<UnaryArgs> silu;
  Kernel<UnaryBackwardArgs> silu_backward;
  Kernel<EmbeddingArgs> embedding;
  Kernel<EmbeddingBackwardArgs> embedding_backward;
  Kernel<LogitsMaxArgs> logits_max;
  Kernel<LogitsStatsArgs> logits_stats;
  Kernel<LogitsBackwardArgs> logits_backward;
  Kernel<TokenLossArgs> token_loss;
  Kernel<WeightedSumArgs> weighted_sum;
  Kernel<FillArgs> fill;
  Kernel<AddArgs> add;
  Kernel<AccumulateArgs> accumulate;
  Kernel<ScaleArgs> scale;
  Kernel<ScaleByArgs> scale_by;
  Kernel<CopyColumnsArgs> copy_columns;
  Kernel<FromHostArgs> reals_from_host;     // from double
  Kernel<FromHostArgs> integers_from_host;  // from std::int64_t
  Kernel<ToHostArgs> reals_to_host;         // to double
  Kernel<SgdArgs> sgd;
};

}  // namespace lockstep
