// Attention over blocks of keys on CUDA against the CPU. Its products sum in the CPU's order; exp,
// log and the sums over a row of scores are other roundings.
#include <cmath>
#include <utility>

#include "core/ops/attention_block.h"
#include "tests/core/ops/cuda/block_fixture.h"

namespace lockstep {
namespace {

using test::AttentionBlockTest;
using test::block_setting;
using test::block_settings;
using test::BlockInputs;
using test::BlockSetting;
using test::Both;
using test::kRealTypes;
using test::OpSide;
using test::part;
using test::run_of;
using test::Twin;
using test::type_name;
using test::ulps_of_sum;
using test::values_of;

// Ulps of a softmax of random scores. Beside the sums, each merge rounds an exp, a log and the
// log-sum-exp itself on either device; this is at most log(keys) + 1 here, and an ulp of it is that
// many of every weight.
double ulps_of_softmax(const BlockSetting& at) {
  const auto keys = static_cast<double>(at.num_keys());
  return ulps_of_sum(at.num_keys()) +
         2.0 * static_cast<double>(at.blocks.size()) * (std::log(keys) + 2.0);
}

constexpr Tensor Qkv::*kGradients[] = {&Qkv::q, &Qkv::k, &Qkv::v};

class CudaAttentionBlock : public AttentionBlockTest {};

TEST_P(CudaAttentionBlock, IsTheCpusOnRandomInput) {
  for (const BlockSetting& at : block_settings()) {
    const Both<BlockInputs> inputs = random_inputs(at);
    const Both<AttentionState> states =
        on_both([&](const OpSide& on) { return merged(on.ops, on.of(inputs), at); });
    EXPECT_TRUE(close(part(states, &AttentionState::lse), ulps_of_softmax(at))) << at.name;
    EXPECT_TRUE(close(part(states, &AttentionState::out), ulps_of_softmax(at))) << at.name;
  }
}

TEST_P(CudaAttentionBlock, GradientsAreTheCpusOnRandomInput) {
  for (const BlockSetting& at : block_settings()) {
    const Both<BlockInputs> inputs = random_inputs(at);
    const Both<AttentionFinal> final = final_of(inputs, at, random(at.q_shape()));
    for (std::size_t i = 0; i < at.blocks.size(); ++i) {
      const Both<Qkv> gradients = zeros(at, at.blocks[i]);
      on_both([&](const OpSide& on) {
        differentiate(on.ops, on.of(final), on.of(inputs).blocks[i], at, on.of(gradients));
        return 0;
      });
      for (Tensor Qkv::*member : kGradients) {
        EXPECT_TRUE(close(part(gradients, member), ulps_of_softmax(at)))
            << at.name << ", block " << i;
        EXPECT_TRUE(guards_stand(part(gradients, member))) << at.name << ", block " << i;
      }
    }
  }
}

// Exactly: what is there and what comes are added in one rounding.
TEST_P(CudaAttentionBlock, GradientsAreAddedToWhatIsThere) {
  for (const BlockSetting& at : block_settings()) {
    const Both<BlockInputs> inputs = random_inputs(at);
    const AttentionFinal final = final_of(inputs, at, random(at.q_shape())).gpu;
    const Qkv alone = zeros(at, at.blocks[0]).gpu;
    const Both<Qkv> sums = random_sums(at, at.blocks[0]);
    for (const Qkv& gradients : {alone, sums.gpu}) {
      differentiate(gpu(), final, inputs.gpu.blocks[0], at, gradients);
    }
    for (Tensor Qkv::*member : kGradients) {
      std::vector<double> expected = values_of(sums.cpu.*member);
      const std::vector<double> added = read_gpu(alone.*member);
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += added[i];
      const Twin rounded = reals(cpu().main_dtype(), expected, (alone.*member).shape);
      EXPECT_TRUE(same_bits({.cpu = rounded.cpu, .gpu = sums.gpu.*member})) << at.name;
    }
  }
}

TEST_P(CudaAttentionBlock, GivesTheSameBitsTwice) {
  for (const BlockSetting& at : block_settings()) {
    const Both<BlockInputs> inputs = random_inputs(at);
    const AttentionState states[] = {merged(gpu(), inputs.gpu, at), merged(gpu(), inputs.gpu, at)};
    EXPECT_TRUE(test::same_bits(read_gpu(states[0].out), read_gpu(states[1].out))) << at.name;
    EXPECT_TRUE(test::same_bits(read_gpu(states[0].lse), read_gpu(states[1].lse))) << at.name;
    const AttentionFinal final = final_of(inputs, at, random(at.q_shape())).gpu;
    const Qkv gradients[] = {zeros(at, at.blocks[0]).gpu, zeros(at, at.blocks[0]).gpu};
    for (const Qkv& of_run : gradients) {
      differentiate(gpu(), final, inputs.gpu.blocks[0], at, of_run);
    }
    for (Tensor Qkv::*member : kGradients) {
      EXPECT_TRUE(test::same_bits(read_gpu(gradients[0].*member), read_gpu(gradients[1].*member)))
          << at.name;
    }
  }
}

// Without the CPU's word: the only key that is seen has all the weight, exactly.
TEST_P(CudaAttentionBlock, TheOnlyKeySeenGivesItsValue) {
  const BlockSetting at = block_setting(
      "one key", run_of(4, 20), {run_of(3, 1)}, {.batch = 2, .heads = 2, .head_dim = 17});
  const BlockInputs inputs = random_inputs(at).gpu;
  const std::vector<double> out = read_gpu(merged(gpu(), inputs, at).out);
  const std::vector<double> v = read_gpu(inputs.blocks[0].kv.v);
  const std::size_t head_dim = 17;
  std::vector<double> expected;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t sample = i / (2 * head_dim) % 2;
    expected.push_back(v[sample * head_dim + i % head_dim]);
  }
  EXPECT_TRUE(test::same_bits(out, expected));
}

// A score of 1e6 overflows an exp in every type, and leaves nothing of others, be they of its own
// block or of one before or after it.
TEST_P(CudaAttentionBlock, LargeScoresDoNotOverflow) {
  const BlockSetting at = block_setting("large", run_of(1, 1), {run_of(0, 2), run_of(1, 1)}, {});
  BlockInputs inputs = random_inputs(at).gpu;
  inputs.q = reals({1000.0}, {1, 1}).gpu;
  inputs.blocks[0].kv = {.k = reals({1000.0, -1000.0}, {2, 1}).gpu,
                         .v = reals({1.5, 2.0}, {2, 1}).gpu};
  inputs.blocks[1].kv = {.k = reals({0.0}, {1, 1}).gpu, .v = reals({8.0}, {1, 1}).gpu};
  EXPECT_EQ(read_gpu(merged(gpu(), inputs, at).out), (std::vector<double>{1.5}));
  std::swap(inputs.blocks[0], inputs.blocks[1]);
  EXPECT_EQ(read_gpu(merged(gpu(), inputs, at).out), (std::vector<double>{1.5}));
}

INSTANTIATE_TEST_SUITE_P(, CudaAttentionBlock, kRealTypes, type_name);

// Query rows, heads, elements of a head.
struct StateCase {
  std::int64_t rows;
  std::int64_t heads;
  std::int64_t head_dim;
};
// The last are more than one pass of the largest grid.
constexpr StateCase kStateCases[] = {{1, 1, 1}, {33, 5, 7}, {1000, 3, 128}, {140000, 8, 2}};

class CudaAttentionDelta : public test::GpuOpTest {};

TEST_P(CudaAttentionDelta, IsTheCpusOnRandomInput) {
  for (const auto& [rows, heads, head_dim] : kStateCases) {
    const AttentionSizes sizes{.num_heads = heads, .num_kv_heads = heads, .head_dim = head_dim};
    const Twin out = random_main({rows, heads * head_dim});
    const Twin dout = random({rows, heads * head_dim});
    EXPECT_TRUE(same_bits(on_both([&](const OpSide& on) {
      return attention_delta(on.ops, on.of(out), on.of(dout), sizes);
    }))) << rows
         << " rows of " << heads;
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaAttentionDelta, kRealTypes, type_name);

class CudaAttentionSink : public test::GpuOpTest {};

TEST_P(CudaAttentionSink, BeginsASoftmaxAsOnTheCpu) {
  for (const auto& [rows, heads, head_dim] : kStateCases) {
    const AttentionSizes sizes{.num_heads = heads, .num_kv_heads = heads, .head_dim = head_dim};
    const Twin q = random({rows, heads * head_dim});
    const Twin sink = random({heads});
    const Both<AttentionState> states = on_both(
        [&](const OpSide& on) { return attention_start(on.ops, on.of(q), sizes, on.of(sink)); });
    EXPECT_TRUE(same_bits(part(states, &AttentionState::lse))) << rows << " rows of " << heads;
    EXPECT_TRUE(same_bits(part(states, &AttentionState::out))) << rows << " rows of " << heads;
  }
}

// Terms of one sign, so that the sum is no smaller than what its roundings go by.
TEST_P(CudaAttentionSink, ItsGradientIsTheCpusOnRandomInput) {
  for (const auto& [rows, heads, head_dim] : kStateCases) {
    const Twin sink = random({heads});
    const Twin lse = random_main({rows, heads});
    std::vector<double> positive = draw(rows * heads);
    for (double& number : positive) number = std::abs(number);
    const Twin delta = reals(cpu().main_dtype(), positive, {rows, heads});
    EXPECT_TRUE(close(on_both([&](const OpSide& on) {
                        return attention_sink_backward(
                            on.ops, on.of(sink), on.of(lse), on.of(delta));
                      }),
                      ulps_of_sum(rows)))
        << rows << " rows of " << heads;
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaAttentionSink, kRealTypes, type_name);

}  // namespace
}  // namespace lockstep
