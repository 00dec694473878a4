// The training program of one rank: the same on simulated ranks and on hardware.
#pragma once

#include "core/config/case.h"
#include "core/parallel/rank_context.h"
#include "core/train/plans.h"
#include "core/train/rank_result.h"

namespace lockstep {

// Trains for recipe.steps steps; each finished step is appended to `result` at once, so that what a
// rank did before it failed is not lost.
void train(const RankContext& context, const Case& c, const Plans& plans, RankResult& result);

}  // namespace lockstep
