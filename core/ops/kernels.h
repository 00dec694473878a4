// The table of kernels that a device offers: one entry a computation, on dense row-major buffers.
//
// A kernel goes by the element types of its buffers. Activations and parameters have the recipe's
// type; statistics, losses, main gradients, masters and optimizer state its accumulation type
// (dtype.h), in which all arithmetic is done; each store rounds once. Outputs are assigned unless a
// comment says that they accumulate. T rows (tokens), H columns.
// An entry may be replaced by a wrong variant (a defect); callers never name a kernel directly.
#pragma once

#include <cstdint>

#include "core/ops/attention_args.h"
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

// dx, or dg (summed over the rows in an order that is the same each time but each device's own),
// from dy.
struct RmsNormBackwardArgs {
  Buffer x_TH;
  Buffer g_H;
  Buffer inverse_rms_T;
  Buffer dy_TH;
  Buffer out;
};

// y = (x - mean) / s * g + b with s = sqrt(variance + eps) of each row. inverse_std[T] = 1 / s.
struct LayerNormArgs {
  Buffer x_TH;
  Buffer g_H;
  Buffer b_H;
  Buffer y_TH;
  Buffer mean_T;
  Buffer inverse_std_T;
  double eps = 0.0;
};
// dx, or dg (summed over the rows in an order that is the same each time but each device's own),
// from dy. db is the column sum of dy.
struct LayerNormBackwardArgs {
  Buffer x_TH;
  Buffer g_H;
  Buffer mean_T;
  Buffer inverse_std_T;
  Buffer dy_TH;
  Buffer out;
};

// y = x + b, b to every row.
struct AddBiasArgs {
  Buffer x_TH;
  Buffer b_H;
  Buffer y_TH;
};
// out[H]: each column summed over the rows in their order.
struct ColumnSumsArgs {
  Buffer x_TH;
  Buffer out_H;
};

// y = silu(gate) up, where a row of x is [gate | up]; backward gives dx in that form.
struct GatedSiluArgs {
  Buffer x_T2F;
  Buffer y_TF;
  std::int64_t width = 0;  // F
};
struct GatedSiluBackwardArgs {
  Buffer x_T2F;
  Buffer dy_TF;
  Buffer dx_T2F;
  std::int64_t width = 0;
};

// Rows of `num_heads` heads of width D, each turned by the angle of its row's position: with halves
// (x1, x2) of a head, y = (x1 cos - x2 sin, x2 cos + x1 sin). Row t has position t / batch of the
// tables, which are of the accumulation type. direction -1 turns back (the backward).
struct RopeArgs {
  Buffer x_TH;
  Buffer cos_SR;  // [positions, D / 2]
  Buffer sin_SR;
  Buffer y_TH;
  std::int64_t batch = 1;  // samples of the micro-batch
  std::int64_t head_dim = 0;
  int direction = 1;
};

// Rows of `groups` groups [q of `queries` heads | k | v] (semantics, section 2.9) from or to rows
// of q, k and v heads.
struct SplitQkvArgs {
  Buffer qkv_TW;
  Buffer q_TQ;
  Buffer k_TK;
  Buffer v_TK;
  std::int64_t groups = 1;
  std::int64_t queries = 1;  // query heads of a group
  std::int64_t head_dim = 0;
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
// stats[0,t] = z[label] - max, 0 where another shard owns the label; stats[1,t] = sum exp(z - max);
// stats[2,t] = sum (z - max). Real columns only.
struct LogitsStatsArgs {
  LogitsArgs logits;
  Buffer max_T;
  Buffer stats_3T;
};
// Label smoothing over a vocabulary of V: the label weighs 1 - weight, and every id weight / V
// more.
struct LabelSmoothing {
  double weight = 0.0;
  std::int64_t vocabulary = 1;
};
// dlogits = dloss (exp(z - max) / stats[1] - (1 - weight) [label] - weight / V), 0 in padding.
struct LogitsBackwardArgs {
  LogitsArgs logits;
  Buffer max_T;
  Buffer stats_3T;
  Buffer dloss_T;
  Buffer dlogits_TV;
  LabelSmoothing smoothing;
};
// loss[t] = log stats[1,t] - (1 - weight) stats[0,t] - weight / V stats[2,t].
struct TokenLossArgs {
  Buffer stats_3T;
  Buffer loss_T;
  LabelSmoothing smoothing;
};

// out[0] = sum of weight * x, in an order that is the same each time but each device's own.
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
// out += x, which may be of another type; out may not overlap x.
struct AccumulateArgs {
  Buffer x;
  Buffer out;
};
// out = x in out's type.
struct ConvertArgs {
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
// Between host doubles or integers and a buffer of the device, rounded to its type.
struct FromHostArgs {
  const void* from = nullptr;
  Buffer to;
};
struct ToHostArgs {
  Buffer from;
  void* to = nullptr;
};
// out[0] = sum of x^2, in an order that is the same each time but each device's own; or the number
// of x that are exactly 0. out is f64.
struct StatisticArgs {
  Buffer x;
  Buffer out;
};

// p -= lr (g + weight_decay p) on the master p; the parameter, which may be the master itself,
// becomes p in its own type.
struct SgdArgs {
  Buffer gradient;
  Buffer master;
  Buffer parameter;
  double lr = 0.0;
  double weight_decay = 0.0;
};
// m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
// p -= lr (m / correction1 / (sqrt(v / correction2) + eps) + weight_decay p), p as above.
struct AdamwArgs {
  Buffer gradient;
  Buffer master;
  Buffer exp_avg;
  Buffer exp_avg_sq;
  Buffer parameter;
  double lr = 0.0;
  double beta1 = 0.0;
  double beta2 = 0.0;
  double correction1 = 1.0;  // 1 - beta1^t
  double correction2 = 1.0;  // 1 - beta2^t
  double eps = 0.0;
  double weight_decay = 0.0;
};

template <typename Args>
using Kernel = void (*)(const LaunchTarget&, const Args&);

struct KernelTable {
  Kernel<MatmulArgs> matmul;
  Kernel<RmsNormArgs> rms_norm;
  Kernel<RmsNormBackwardArgs> rms_norm_backward_input;
  Kernel<RmsNormBackwardArgs> rms_norm_backward_weight;
  Kernel<LayerNormArgs> layer_norm;
  Kernel<LayerNormBackwardArgs> layer_norm_backward_input;
  Kernel<LayerNormBackwardArgs> layer_norm_backward_weight;
  Kernel<AddBiasArgs> add_bias;
  Kernel<ColumnSumsArgs> column_sums;
  Kernel<GatedSiluArgs> gated_silu;
  Kernel<GatedSiluBackwardArgs> gated_silu_backward;
  Kernel<RopeArgs> rope;
  Kernel<SplitQkvArgs> split_qkv;
  Kernel<SplitQkvArgs> join_qkv;
  Kernel<AttentionArgs> attention;
  Kernel<AttentionBackwardArgs> attention_backward;
  Kernel<AttentionSinkArgs> attention_sink;
  Kernel<AttentionSinkBackwardArgs> attention_sink_backward;
  Kernel<AttentionBlockArgs> attention_block;
  Kernel<AttentionDeltaArgs> attention_delta;
  Kernel<AttentionBlockBackwardArgs> attention_block_backward;
  Kernel<DropoutArgs> dropout;
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
  Kernel<ConvertArgs> convert;
  Kernel<ScaleArgs> scale;
  Kernel<ScaleByArgs> scale_by;
  Kernel<CopyColumnsArgs> copy_columns;
  Kernel<FromHostArgs> reals_from_host;     // from double
  Kernel<FromHostArgs> integers_from_host;  // from std::int64_t
  Kernel<ToHostArgs> reals_to_host;         // to double
  Kernel<StatisticArgs> sum_of_squares;
  Kernel<StatisticArgs> count_zeros;
  Kernel<SgdArgs> sgd;
  Kernel<AdamwArgs> adamw;
};

}  // namespace lockstep
