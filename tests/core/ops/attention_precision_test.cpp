// Attention's kernels in f32 and bf16 against themselves in f64 on the same inputs.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "core/ops/attention.h"
#include "tests/core/ops/block_problem.h"
#include "tests/core/ops/precision.h"

namespace lockstep {
namespace {

using test::BlockGradients;
using test::BlockProblem;
using test::BlockSetting;
using test::OpFixture;
using Op = test::OpWithPrecision;

constexpr std::int64_t kRows = 24;
constexpr AttentionSizes kHeads{
    .batch = 2, .num_heads = 4, .num_kv_heads = 2, .head_dim = 8, .scale = 0.35};

Qkv attention_inputs(OpFixture& f) {
  const Tensor q = f.random({kRows, 32});
  const Tensor k = f.random({kRows, 16});
  return {.q = q, .k = k, .v = f.random({kRows, 16})};
}

Qkv attention_gradients(OpFixture& f) {
  const Qkv inputs = attention_inputs(f);
  const Tensor p = attention(f.ops(), inputs, kHeads).probabilities;
  return attention_backward(
      f.ops(), {.inputs = inputs, .probabilities = p}, kHeads, f.random({kRows, 32}));
}

std::vector<Op> whole_ops() {
  return {
      {"attention",
       3,
       [](OpFixture& f) { return attention(f.ops(), attention_inputs(f), kHeads).out; }},
      {"attention_probabilities",
       1,
       [](OpFixture& f) { return attention(f.ops(), attention_inputs(f), kHeads).probabilities; }},
      {"attention_backward_q", 4, [](OpFixture& f) { return attention_gradients(f).q; }},
      {"attention_backward_k", 6, [](OpFixture& f) { return attention_gradients(f).k; }},
      {"attention_backward_v", 2, [](OpFixture& f) { return attention_gradients(f).v; }},
  };
}

// Two blocks of keys of padded documents, with a window, a sink and dropout.
BlockProblem problem_of(OpFixture& f) {
  const test::Tokens documents = test::packed({7, 13}, 4);
  const test::Tokens first(documents.begin(), documents.begin() + 13);
  const test::Tokens second(documents.begin() + 13, documents.end());
  BlockSetting at = test::block_setting(
      "blocks", documents, {second, first}, {.batch = 2, .heads = 4, .kv_heads = 2, .head_dim = 8});
  at.has_sink = true;
  at.block.window = 9;
  at.block.dropout = {.probability = 0.25, .seed = 1, .stream = 2};
  at.block.seq = 20;
  at.block.all_heads = 4;
  return test::block_problem(f, at);
}

BlockGradients block_gradients(OpFixture& f) {
  const BlockProblem problem = problem_of(f);
  return test::differentiated(f, problem, f.random(problem.q.shape));
}

std::vector<Op> block_ops() {
  return {
      {"attention_block", 5, [](OpFixture& f) { return merged(f.ops(), problem_of(f)).out; }},
      {"attention_block_lse", 2, [](OpFixture& f) { return merged(f.ops(), problem_of(f)).lse; }},
      {"attention_block_backward_q", 5, [](OpFixture& f) { return block_gradients(f).q; }},
      {"attention_block_backward_k",
       3,
       [](OpFixture& f) { return block_gradients(f).blocks[1].k; }},
      {"attention_block_backward_v",
       6,
       [](OpFixture& f) { return block_gradients(f).blocks[1].v; }},
      {"attention_delta",
       2,
       [](OpFixture& f) {
         const Tensor out = f.random_main({kRows, 32});
         return attention_delta(f.ops(), out, f.random({kRows, 32}), kHeads);
       }},
      {"attention_sink",
       0,
       [](OpFixture& f) {
         const Tensor q = f.random({kRows, 32});
         return attention_start(f.ops(), q, kHeads, f.random({4})).lse;
       }},
      {"attention_sink_backward",
       1,
       [](OpFixture& f) {
         const Tensor sink = f.random({4});
         const Tensor lse = f.random_main({kRows, 4});
         return attention_sink_backward(f.ops(), sink, lse, f.random_main({kRows, 4}));
       }},
  };
}

std::vector<Op> all_ops() {
  std::vector<Op> all = whole_ops();
  for (const Op& op : block_ops()) all.push_back(op);
  return all;
}

using OpInType = std::tuple<Op, DType>;

class AttentionInType : public testing::TestWithParam<OpInType> {};

TEST_P(AttentionInType, IsF64RoundedOnceUpToItsArithmetic) {
  const auto& [op, dtype] = GetParam();
  const double worst = test::ulps_of_arithmetic(op, dtype);
  EXPECT_LE(worst, op.ulps_max);
  RecordProperty("worst", std::to_string(worst));
}

INSTANTIATE_TEST_SUITE_P(Of,
                         AttentionInType,
                         testing::Combine(testing::ValuesIn(all_ops()),
                                          testing::Values(DType::kF32, DType::kBF16)),
                         [](const auto& row) {
                           return std::get<0>(row.param).name + "_" +
                                  std::string(name_of(std::get<1>(row.param)));
                         });

}  // namespace
}  // namespace lockstep
