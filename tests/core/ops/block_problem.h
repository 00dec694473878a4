// Attention over blocks of keys with its inputs on one device: run forward and backward, cut
// otherwise, and written out term by term.
#pragma once

#include <vector>

#include "core/ops/attention_block.h"
#include "tests/core/ops/cuda/block_settings.h"
#include "tests/support/op_fixture.h"

namespace lockstep::test {

struct KeyBlock {
  KeysAndValues kv;
  TokenTables tokens;
};
struct BlockProblem {
  BlockSetting at;
  Tensor q;
  Tensor sink;  // may be empty
  std::vector<KeyBlock> blocks;
};
// Random inputs.
BlockProblem block_problem(OpFixture& fixture, const BlockSetting& at);
// The same keys in other blocks: those `parts` name, in their order.
struct KeyRange {
  std::int64_t block = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};
BlockProblem recut(const OpFixture& fixture,
                   const BlockProblem& problem,
                   const std::vector<KeyRange>& parts);
Tensor token_table(const OpFixture& fixture, const Tokens& tokens);

// All blocks in their order.
AttentionState merged(const OpContext& ops, const BlockProblem& problem);

struct BlockGradients {
  Tensor q;
  std::vector<KeysAndValues> blocks;
  Tensor sink;  // where there is one
};
// Accumulators of zeros.
Qkv zero_gradients(const OpFixture& fixture, const BlockProblem& problem, std::size_t block);
AttentionFinal final_of(const OpContext& ops,
                        const BlockProblem& problem,
                        const AttentionState& state,
                        const Tensor& dout);
BlockGradients differentiated(const OpFixture& fixture,
                              const BlockProblem& problem,
                              const Tensor& dout);

// Softmax and dropout by their definitions, over all keys of all blocks at once.
struct PlainAttention {
  std::vector<double> out;
  std::vector<double> lse;
};
PlainAttention plain_attention(const BlockProblem& problem);

// Settings small enough for a difference quotient of every element: windows, documents with
// padding, a ring with a sink, gathered chunks, dropout, samples and groups of query heads.
std::vector<BlockSetting> compact_settings();

}  // namespace lockstep::test
