// A case small enough for finite differences, with uneven sizes.
#pragma once

#include "core/config/presets.h"

namespace lockstep::test {

inline Case small_case(Mask mask, LossNorm norm) {
  Case c = preset_case("tiny-linear");
  c.model.hidden_size = 6;
  c.model.intermediate_size = 5;
  c.model.vocab_size = 11;
  c.recipe.seq = 4;
  c.recipe.global_batch = 6;
  c.recipe.micro_batch = 2;
  c.recipe.mask = mask;
  c.recipe.loss_norm = norm;
  return c;
}

inline constexpr Mask kAllMasks[] = {
    Mask::kFull, Mask::kUneven, Mask::kSingle, Mask::kEmpty, Mask::kNone, Mask::kVarying};
inline constexpr LossNorm kBothNorms[] = {LossNorm::kMicroBatch, LossNorm::kToken};

}  // namespace lockstep::test
