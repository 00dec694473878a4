// What a query on CUDA sees and what it does not: NaN shows whom a key, a value, a query or a
// gradient reaches, and no more.
#include <cmath>

#include "core/ops/attention_block.h"
#include "tests/core/ops/cuda/block_fixture.h"

namespace lockstep {
namespace {

using test::AttentionBlockTest;
using test::block_settings;
using test::BlockInputs;
using test::BlockOfKeys;
using test::BlockSetting;
using test::Both;
using test::kRealTypes;
using test::small_setting;
using test::Token;
using test::Tokens;
using test::Twin;
using test::type_name;
using test::values_of;

// Of the small setting's tokens: keys of a document that no query is of, and what is at the edges
// of tiles, windows and documents.
constexpr std::int64_t kKeys[] = {0, 1, 2, 15, 16, 17, 22, 23, 40, 41, 54};
constexpr std::int64_t kQueries[] = {0, 15, 16, 17, 20, 21, 38, 39, 52};

class CudaAttentionSight : public AttentionBlockTest {
 protected:
  // Elements of the small setting's rows of `heads` heads: NaN is put into element 0 of the kv head
  // 1, or query head 4 that reads it, of sample 1.
  struct Element {
    std::int64_t token;
    std::int64_t sample;
    std::int64_t head;
    std::int64_t column;
  };
  static Element element_at(std::size_t index, std::int64_t heads) {
    const auto i = static_cast<std::int64_t>(index);
    return {.token = i / 20 / heads / 2,
            .sample = i / 20 / heads % 2,
            .head = i / 20 % heads,
            .column = i % 20};
  }
  static std::int64_t first_element(std::int64_t token, std::int64_t head, std::int64_t heads) {
    return ((token * 2 + 1) * heads + head) * 20;
  }
  static const Token& at_index(const Tokens& tokens, std::int64_t index) {
    return tokens[static_cast<std::size_t>(index)];
  }
};

TEST_P(CudaAttentionSight, NaNInAKeyOrAValueReachesThoseWhoSeeItOnly) {
  const BlockSetting at = small_setting();
  const BlockInputs inputs = random_inputs(at).gpu;
  for (const std::int64_t key : kKeys) {
    for (const bool is_key : {true, false}) {
      BlockInputs bad = inputs;
      Tensor& tensor = is_key ? bad.blocks[0].kv.k : bad.blocks[0].kv.v;
      tensor = poisoned(tensor, first_element(key, 1, 2));
      const AttentionState state = merged(gpu(), bad, at);
      const std::vector<double> out = read_gpu(state.out);
      const std::vector<double> lse = read_gpu(state.lse);
      std::size_t num_wrong = 0;
      for (std::size_t i = 0; i < out.size(); ++i) {
        const Element of_out = element_at(i, 6);
        const bool is_reader =
            of_out.sample == 1 && of_out.head >= 3 &&
            at.sees(at_index(at.queries, of_out.token), at_index(at.blocks[0], key));
        if (std::isnan(out[i]) != (is_reader && (is_key || of_out.column == 0))) ++num_wrong;
        if (std::isnan(lse[i / 20]) != (is_reader && is_key)) ++num_wrong;
      }
      EXPECT_EQ(num_wrong, 0U) << "key " << key << (is_key ? "" : ", its value");
    }
  }
}

TEST_P(CudaAttentionSight, NaNInAQueryOrItsGradientReachesItselfAndWhatItSeesOnly) {
  const BlockSetting at = small_setting();
  const Both<BlockInputs> inputs = random_inputs(at);
  const AttentionFinal final = final_of(inputs, at, random(at.q_shape())).gpu;
  for (const std::int64_t query : kQueries) {
    for (const bool is_query : {true, false}) {
      AttentionFinal bad = final;
      Tensor& tensor = is_query ? bad.q : bad.dout;
      tensor = poisoned(tensor, first_element(query, 4, 6));
      const Qkv gradients = zeros(at, at.blocks[0]).gpu;
      differentiate(gpu(), bad, inputs.gpu.blocks[0], at, gradients);
      std::size_t num_wrong = 0;
      const std::vector<double> dq = read_gpu(gradients.q);
      for (std::size_t i = 0; i < dq.size(); ++i) {
        const Element of_dq = element_at(i, 6);
        const bool is_own = of_dq.sample == 1 && of_dq.head == 4 && of_dq.token == query;
        if (std::isnan(dq[i]) != is_own) ++num_wrong;
      }
      const std::vector<double> dk = read_gpu(gradients.k);
      const std::vector<double> dv = read_gpu(gradients.v);
      for (std::size_t i = 0; i < dk.size(); ++i) {
        const Element of_dk = element_at(i, 2);
        const bool is_seen =
            of_dk.sample == 1 && of_dk.head == 1 &&
            at.sees(at_index(at.queries, query), at_index(at.blocks[0], of_dk.token));
        if (std::isnan(dk[i]) != is_seen) ++num_wrong;
        if (std::isnan(dv[i]) != (is_seen && (is_query || of_dk.column == 0))) ++num_wrong;
      }
      EXPECT_EQ(num_wrong, 0U) << "query " << query << (is_query ? "" : ", its gradient");
    }
  }
}

// Their lse is -inf, and the gradient of their output may be anything.
TEST_P(CudaAttentionSight, RowsThatSeeNothingGiveAndGetNoGradient) {
  const BlockSetting at = [] {
    BlockSetting setting = small_setting();
    setting.blocks[0].resize(20);
    return setting;
  }();
  const Both<BlockInputs> inputs = random_inputs(at);
  const AttentionFinal final = final_of(inputs, at, random(at.q_shape())).gpu;
  const Qkv expected = zeros(at, at.blocks[0]).gpu;
  differentiate(gpu(), final, inputs.gpu.blocks[0], at, expected);
  std::vector<double> dout = read_gpu(final.dout);
  for (std::size_t i = 0; i < dout.size(); ++i) {
    const Token& query = at_index(at.queries, element_at(i, 6).token);
    if (!at.sees_any(query)) dout[i] = std::nan("");
  }
  AttentionFinal bad = final;
  bad.dout = reals(dout, at.q_shape()).gpu;
  const Qkv gradients = zeros(at, at.blocks[0]).gpu;
  differentiate(gpu(), bad, inputs.gpu.blocks[0], at, gradients);
  for (Tensor Qkv::*member : {&Qkv::q, &Qkv::k, &Qkv::v}) {
    EXPECT_TRUE(test::same_bits(read_gpu(gradients.*member), read_gpu(expected.*member)));
  }
}

// Be they negative zeros, infinities or numbers; those beside them in a tile move on.
TEST_P(CudaAttentionSight, RowsThatSeeNothingStayBitForBit) {
  for (const BlockSetting& at : block_settings()) {
    const BlockInputs inputs = random_inputs(at).gpu;
    const DType dtype = cpu().main_dtype();
    const std::vector<double> lse = draw(at.state_shape().num_elements());
    const std::vector<double> out(static_cast<std::size_t>(at.q_shape().num_elements()), -0.0);
    const Twin lse_before = reals(dtype, lse, at.state_shape());
    const Twin out_before = reals(dtype, out, at.q_shape());
    const AttentionState state{.out = out_before.gpu, .lse = lse_before.gpu};
    for (const BlockOfKeys& block : inputs.blocks) {
      attention_block(gpu(), inputs.q, block.kv, block.tokens, at.block, state);
    }
    EXPECT_TRUE(guards_stand(lse_before)) << at.name;
    EXPECT_TRUE(guards_stand(out_before)) << at.name;
    const std::vector<double> lse_after = read_gpu(state.lse);
    const std::vector<double> out_after = read_gpu(state.out);
    const std::vector<double> lse_first = values_of(lse_before.cpu);
    const auto heads = static_cast<std::size_t>(at.block.sizes.num_heads);
    const auto head_dim = static_cast<std::size_t>(at.block.sizes.head_dim);
    std::size_t num_wrong = 0;
    for (std::size_t i = 0; i < lse_after.size(); ++i) {
      const std::size_t token = i / heads / static_cast<std::size_t>(at.block.sizes.batch);
      const bool stays = !at.sees_any(at.queries[token]);
      if ((lse_after[i] == lse_first[i]) != stays) ++num_wrong;
      const double element = out_after[i * head_dim];
      if (stays && !(element == 0.0 && std::signbit(element))) ++num_wrong;
    }
    EXPECT_EQ(num_wrong, 0U) << at.name;
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaAttentionSight, kRealTypes, type_name);

}  // namespace
}  // namespace lockstep
