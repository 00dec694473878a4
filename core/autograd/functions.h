// Ops that record themselves on a tape. Shapes as in core/ops.
#pragma once

#include "core/autograd/tape.h"
#include "core/ops/attention.h"
#include "core/ops/dropout.h"
#include "core/ops/vocabulary.h"

namespace lockstep {

Variable linear(Tape& tape, const Variable& x, const Parameter& weight);
Variable add_bias(Tape& tape, const Variable& x, const Parameter& bias);
Variable rms_norm(Tape& tape, const Variable& x, const Parameter& g, double eps);
struct LayerNormParameters {
  Parameter g;
  Parameter b;
};
Variable layer_norm(Tape& tape,
                    const Variable& x,
                    const LayerNormParameters& parameters,
                    double eps);
Variable silu(Tape& tape, const Variable& x);
Variable gated_silu(Tape& tape, const Variable& x);
Variable add(Tape& tape, const Variable& a, const Variable& b);
// With a probability of 0, x itself.
Variable dropout(Tape& tape, const Variable& x, const DropoutPlace& place, const Dropout& dropout);
// The same elements in another shape.
Variable reshaped(Tape& tape, const Variable& x, const Shape& shape);
// Columns [first, first + count) of the last dim.
Variable columns(Tape& tape, const Variable& x, std::int64_t first, std::int64_t count);

struct QkvVariables {
  Variable q;
  Variable k;
  Variable v;
};
QkvVariables split_qkv(Tape& tape, const Variable& qkv, const QkvGroups& groups);
Variable rope(Tape& tape, const Variable& x, const RopeTables& tables, std::int64_t batch);
Variable attention(Tape& tape, const QkvVariables& inputs, const AttentionSizes& sizes);

Variable embedding(Tape& tape,
                   const Tensor& ids,
                   const Parameter& weight,
                   const VocabularyShard& shard);
// [1]: sum of weight * x, the weights being constants.
Variable weighted_sum(Tape& tape, const Variable& x, const Tensor& weight);

}  // namespace lockstep
