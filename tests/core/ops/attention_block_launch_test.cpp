// What attention over blocks of keys tells the device of the memory it touches, whose order is
// checked by that.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/ops/cpu/kernels.h"
#include "core/ops/dropout.h"
#include "core/ops/elementwise.h"
#include "tests/core/ops/block_problem.h"

namespace lockstep {
namespace {

using test::block_problem;
using test::BlockProblem;
using test::OpFixture;

struct Touched {
  std::vector<Buffer> reads;
  std::vector<Buffer> writes;
};

// Remembers each label's last launch.
class TouchRecorder : public Device {
 public:
  Ticket launch(const Launch& launch) override {
    touched[std::string(launch.label)] = {.reads = {launch.reads.begin(), launch.reads.end()},
                                          .writes = {launch.writes.begin(), launch.writes.end()}};
    return cpu_.launch(launch);
  }

  std::map<std::string, Touched> touched;

 private:
  CpuDevice cpu_;
};

std::vector<std::pair<const Storage*, std::int64_t>> places_of(const std::vector<Buffer>& buffers) {
  std::vector<std::pair<const Storage*, std::int64_t>> places;
  for (const Buffer& buffer : buffers) places.emplace_back(buffer.storage, buffer.offset);
  std::sort(places.begin(), places.end());
  return places;
}

class AttentionBlockLaunches : public testing::Test, protected OpFixture {
 protected:
  // In any order.
  void expect_touched(const std::string& label,
                      const std::vector<Tensor>& reads,
                      const std::vector<Tensor>& writes) const {
    ASSERT_TRUE(device_.touched.contains(label)) << label;
    const auto buffers = [](const std::vector<Tensor>& tensors) {
      std::vector<Buffer> all;
      for (const Tensor& tensor : tensors) all.push_back(tensor.buffer());
      return all;
    };
    const Touched& touched = device_.touched.at(label);
    EXPECT_EQ(places_of(touched.reads), places_of(buffers(reads))) << label;
    EXPECT_EQ(places_of(touched.writes), places_of(buffers(writes))) << label;
  }

  TouchRecorder device_;
  const KernelTable kernels_ = cpu_kernels();
  const OpContext recorded_{.device = device_, .kernels = kernels_};
  const BlockProblem problem_ = block_problem(*this, test::compact_settings().back());
  const Tensor dout_ = random(problem_.q.shape);
};

TEST_F(AttentionBlockLaunches, ReadAndWriteTheStateThatABlockIsMergedInto) {
  const AttentionState state =
      attention_start(recorded_, problem_.q, problem_.at.block.sizes, problem_.sink);
  expect_touched("op.attention_sink", {problem_.sink}, {state.lse});
  const test::KeyBlock& block = problem_.blocks[1];
  const TokenTables& tokens = block.tokens;
  attention_block(recorded_, problem_.q, block.kv, tokens, problem_.at.block, state);
  expect_touched(
      "op.attention_block",
      {problem_.q, block.kv.k, block.kv.v, tokens.queries, tokens.keys, state.out, state.lse},
      {state.out, state.lse});
}

TEST_F(AttentionBlockLaunches, ReadAndWriteTheGradientsThatABlockAddsTo) {
  const AttentionState state = merged(recorded_, problem_);
  const AttentionFinal final = test::final_of(recorded_, problem_, state, dout_);
  expect_touched("op.attention_delta", {state.out, dout_}, {final.delta});
  const test::KeyBlock& block = problem_.blocks[1];
  const Qkv sums = test::zero_gradients(*this, problem_, 1);
  attention_block_backward(recorded_, final, block.kv, block.tokens, problem_.at.block, sums);
  expect_touched("op.attention_block_backward",
                 {problem_.q,
                  block.kv.k,
                  block.kv.v,
                  block.tokens.queries,
                  block.tokens.keys,
                  dout_,
                  final.lse,
                  final.delta,
                  sums.q,
                  sums.k,
                  sums.v},
                 {sums.q, sums.k, sums.v});
  const Tensor dsink = attention_sink_backward(recorded_, problem_.sink, final.lse, final.delta);
  expect_touched("op.attention_sink_backward", {problem_.sink, final.lse, final.delta}, {dsink});
}

TEST_F(AttentionBlockLaunches, OfDropoutAndConversionReadTheirInputAlone) {
  const Tensor x = random({2, 3});
  const DropoutPlace place{.rows = integers({1, 2}), .width = 3};
  const Tensor dropped = dropout(recorded_, x, place, {.probability = 0.5});
  expect_touched("op.dropout", {x, place.rows}, {dropped});
  const Tensor single = converted(recorded_, x, DType::kF32);
  expect_touched("op.convert", {x}, {single});
}

}  // namespace
}  // namespace lockstep
