// The rows of the table of defects, by what they edit.
#pragma once

#include <vector>

#include "simulator/defects/defect.h"

namespace lockstep::sim {

// Gradients of what tensor ranks hold in copies.
std::vector<Defect> replicated_gradient_rows();
// Accumulation over micro-batches and sums over data ranks.
std::vector<Defect> gradient_sum_rows();
// The loss, its normalisation and its report.
std::vector<Defect> loss_rows();
// Norms, counts, clipping and weight decay.
std::vector<Defect> norm_rows();
// Initial values and samples: who starts from what.
std::vector<Defect> initial_rows();
// Mappings and attention heads: the forward and backward passes over tp.
std::vector<Defect> tensor_parallel_rows();
// Sequences cut over cp, and attention across the parts.
std::vector<Defect> context_parallel_rows();
// What divides a masked loss, under cp above all.
std::vector<Defect> masked_loss_rows();
// Random streams of dropout.
std::vector<Defect> dropout_rows();

}  // namespace lockstep::sim
