// What tests of attention over blocks of keys share: inputs, states and accumulators on a CPU and a
// GPU.
#pragma once

#include <vector>

#include "core/ops/attention_block.h"
#include "tests/core/ops/cuda/block_settings.h"
#include "tests/core/ops/cuda/twin_parts.h"

namespace lockstep::test {

struct BlockOfKeys {
  KeysAndValues kv;
  TokenTables tokens;
};
// The inputs of one device.
struct BlockInputs {
  Tensor q;
  Tensor sink;  // may be empty
  std::vector<BlockOfKeys> blocks;
};

class AttentionBlockTest : public GpuOpTest {
 protected:
  Both<BlockInputs> random_inputs(const BlockSetting& at);
  // All blocks one after the other.
  static AttentionState merged(const OpContext& ops,
                               const BlockInputs& inputs,
                               const BlockSetting& at);
  // What backward needs, on both sides as the CPU has it.
  Both<AttentionFinal> final_of(const Both<BlockInputs>& inputs,
                                const BlockSetting& at,
                                const Twin& dout);
  // Accumulators of the gradients of a block: zeros, or random numbers.
  Both<Qkv> zeros(const BlockSetting& at, const Tokens& keys);
  Both<Qkv> random_sums(const BlockSetting& at, const Tokens& keys);
  // Adds the gradients of one block.
  static void differentiate(const OpContext& ops,
                            const AttentionFinal& final,
                            const BlockOfKeys& block,
                            const BlockSetting& at,
                            const Qkv& gradients);
  // `tensor` of the GPU with NaN at one element.
  Tensor poisoned(const Tensor& tensor, std::int64_t element);

 private:
  Twin table(const Tokens& tokens);
  Both<Qkv> accumulators(const Both<Tensor>& q, const Both<Tensor>& k, const Both<Tensor>& v);
};

}  // namespace lockstep::test
