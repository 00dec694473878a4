// Optimizer updates of one parameter, in place.
#pragma once

#include "core/ops/context.h"

namespace lockstep {

// The master is updated by the main gradient; the parameter, which may be the master itself,
// follows.
struct SgdUpdate {
  Tensor gradient;
  Tensor master;
  Tensor parameter;
  double lr = 0.0;
  double weight_decay = 0.0;
};
// p -= lr (g + weight_decay p)
void sgd_update(const OpContext& ops, const SgdUpdate& update, std::string_view label);

struct AdamwUpdate {
  Tensor gradient;
  Tensor master;
  Tensor exp_avg;
  Tensor exp_avg_sq;
  Tensor parameter;
  double lr = 0.0;
  double beta1 = 0.0;
  double beta2 = 0.0;
  double eps = 0.0;
  double weight_decay = 0.0;
  std::int64_t step = 1;  // of updates, from 1
};
// Semantics, section 8.6, with decoupled weight decay.
void adamw_update(const OpContext& ops, const AdamwUpdate& update, std::string_view label);

}  // namespace lockstep
