// What a rank's attention and dropout need to know of a micro-batch's tokens, on the device.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ops/attention.h"

namespace lockstep {

struct SequenceTables {
  RopeTables rope;  // of the local tokens; empty where the model has no RoPE
  // Tables of tokens (attention_args.h), none for attention of whole sequences.
  Tensor query_tokens;
  std::vector<Tensor> forward_key_tokens;   // by block of keys
  std::vector<Tensor> backward_key_tokens;  // alike
  // The tokens of all steps that the rows of the residual stream are, -1 of padding; none without
  // dropout.
  Tensor residual_rows;
  std::int64_t first_token = 0;  // position 0 of the first sample, of the tokens of all steps
};

}  // namespace lockstep
