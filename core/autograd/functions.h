// Ops that record themselves on a tape. Shapes as in core/ops.
#pragma once

#include "core/autograd/tape.h"
#include "core/ops/vocabulary.h"

namespace lockstep {

Variable linear(Tape& tape, const Variable& x, const Parameter& weight);
Variable rms_norm(Tape& tape, const Variable& x, const Parameter& g, double eps);
Variable silu(Tape& tape, const Variable& x);
Variable add(Tape& tape, const Variable& a, const Variable& b);
Variable embedding(Tape& tape,
                   const Tensor& ids,
                   const Parameter& weight,
                   const VocabularyShard& shard);
// [1]: sum of weight * x, the weights being constants.
Variable weighted_sum(Tape& tape, const Variable& x, const Tensor& weight);

}  // namespace lockstep
