// Attention on CUDA against the CPU. Its products sum in the CPU's order, so that what comes of
// them alone has the CPU's bits; exp and the sums over a row of scores have not.
#include <cmath>

#include "core/ops/attention.h"
#include "tests/core/ops/cuda/twin_parts.h"

namespace lockstep {
namespace {

using test::Both;
using test::kRealTypes;
using test::OpSide;
using test::part;
using test::Twin;
using test::type_name;
using test::ulps_of_sum;
using test::values_of;

struct Setting {
  std::int64_t seq;
  AttentionSizes sizes;

  Shape q_shape() const { return {seq * sizes.batch, sizes.num_heads * sizes.head_dim}; }
  Shape kv_shape() const { return {seq * sizes.batch, sizes.num_kv_heads * sizes.head_dim}; }
  // Where token s of a sample's head begins, in rows of `heads` heads.
  std::size_t start(std::int64_t s,
                    std::int64_t sample,
                    std::int64_t head,
                    std::int64_t heads) const {
    return static_cast<std::size_t>(((s * sizes.batch + sample) * heads + head) * sizes.head_dim);
  }
};

Setting setting(std::int64_t seq,
                std::int64_t batch,
                std::int64_t heads,
                std::int64_t kv_heads,
                std::int64_t head_dim) {
  return {.seq = seq,
          .sizes = {.batch = batch,
                    .num_heads = heads,
                    .num_kv_heads = kv_heads,
                    .head_dim = head_dim,
                    .scale = 1.0 / std::sqrt(static_cast<double>(head_dim))}};
}

// Tiles of 16 that are full, begun and single; a kv head for one, some and all queries.
const Setting kSettings[] = {setting(1, 1, 1, 1, 1),
                             setting(1, 3, 8, 2, 8),
                             setting(5, 2, 8, 2, 40),
                             setting(16, 1, 2, 1, 16),
                             setting(17, 2, 3, 3, 15),
                             setting(32, 2, 4, 4, 128),
                             setting(33, 1, 6, 2, 256),
                             setting(130, 2, 8, 2, 8),
                             setting(300, 1, 2, 1, 33)};
const Setting kSmall = setting(37, 2, 6, 2, 20);

std::string name_of(const Setting& at) {
  return "seq " + std::to_string(at.seq) + ", batch " + std::to_string(at.sizes.batch) +
         ", heads " + std::to_string(at.sizes.num_heads) + " over " +
         std::to_string(at.sizes.num_kv_heads) + " of " + std::to_string(at.sizes.head_dim);
}

class CudaAttention : public test::GpuOpTest {
 protected:
  Both<Qkv> random_inputs(const Setting& at) {
    const Twin q = random(at.q_shape());
    const Twin k = random(at.kv_shape());
    const Twin v = random(at.kv_shape());
    return on_both(
        [&](const OpSide& on) { return Qkv{.q = on.of(q), .k = on.of(k), .v = on.of(v)}; });
  }
  // Inputs with the CPU's probabilities on both sides.
  Both<AttentionSaved> saved(const Setting& at) {
    const Both<Qkv> inputs = random_inputs(at);
    const Tensor p = attention(cpu(), inputs.cpu, at.sizes).probabilities;
    const Twin given = reals(p.dtype, values_of(p), p.shape);
    return on_both([&](const OpSide& on) {
      return AttentionSaved{.inputs = on.of(inputs), .probabilities = on.of(given)};
    });
  }
  Both<Qkv> backward(const Both<AttentionSaved>& saved_of, const Setting& at, const Twin& dout) {
    return on_both([&](const OpSide& on) {
      return attention_backward(on.ops, on.of(saved_of), at.sizes, on.of(dout));
    });
  }
  // A tensor of the GPU with NaN at one element.
  Tensor poisoned(const Shape& shape, std::size_t element) {
    std::vector<double> numbers = draw(shape.num_elements());
    numbers[element] = std::nan("");
    return reals(numbers, shape).gpu;
  }
};

TEST_P(CudaAttention, IsTheCpusOnRandomInput) {
  for (const Setting& at : kSettings) {
    const Both<Qkv> inputs = random_inputs(at);
    const auto results =
        on_both([&](const OpSide& on) { return attention(on.ops, on.of(inputs), at.sizes); });
    EXPECT_TRUE(close(part(results, &AttentionResult::out), ulps_of_sum(at.seq))) << name_of(at);
    EXPECT_TRUE(close(part(results, &AttentionResult::probabilities), ulps_of_sum(at.seq)))
        << name_of(at);
  }
}

TEST_P(CudaAttention, ProbabilitiesAboveTheDiagonalAreZeroAndNoOthersAre) {
  for (const Setting& at : kSettings) {
    const std::vector<double> p =
        read_gpu(attention(gpu(), random_inputs(at).gpu, at.sizes).probabilities);
    const auto seq = static_cast<std::size_t>(at.seq);
    std::size_t num_wrong = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const bool is_above = i % seq > i / seq % seq;
      num_wrong += (is_above ? p[i] == 0.0 : p[i] > 0.0) ? 0 : 1;
    }
    EXPECT_EQ(num_wrong, 0U) << name_of(at);
  }
}

TEST_P(CudaAttention, GradientsAreTheCpusOnRandomInput) {
  for (const Setting& at : kSettings) {
    const Both<Qkv> gradients = backward(saved(at), at, random(at.q_shape()));
    // The values' gradient is a product alone.
    EXPECT_TRUE(same_bits(part(gradients, &Qkv::v))) << name_of(at);
    EXPECT_TRUE(close(part(gradients, &Qkv::q), ulps_of_sum(at.seq))) << name_of(at);
    EXPECT_TRUE(close(part(gradients, &Qkv::k), ulps_of_sum(at.seq))) << name_of(at);
  }
}

TEST_P(CudaAttention, GivesTheSameBitsTwice) {
  const Setting at = setting(130, 2, 8, 2, 40);
  const Both<AttentionSaved> saved_of = saved(at);
  const Twin dout = random(at.q_shape());
  const auto forward = [&] { return attention(gpu(), saved_of.gpu.inputs, at.sizes); };
  const AttentionResult out[] = {forward(), forward()};
  EXPECT_TRUE(test::same_bits(read_gpu(out[0].out), read_gpu(out[1].out)));
  EXPECT_TRUE(test::same_bits(read_gpu(out[0].probabilities), read_gpu(out[1].probabilities)));
  const auto gradients = [&] {
    return attention_backward(gpu(), saved_of.gpu, at.sizes, dout.gpu);
  };
  const Qkv twice[] = {gradients(), gradients()};
  for (Tensor Qkv::*member : {&Qkv::q, &Qkv::k, &Qkv::v}) {
    EXPECT_TRUE(test::same_bits(read_gpu(twice[0].*member), read_gpu(twice[1].*member)));
  }
}

TEST_P(CudaAttention, LargeScoresDoNotOverflow) {
  const Twin q = reals({1e3, 1e3}, {2, 1});
  const Twin v = reals({1.0, 2.0}, {2, 1});
  const AttentionSizes sizes{.num_heads = 1, .num_kv_heads = 1, .head_dim = 1};
  const Tensor out = attention(gpu(), {.q = q.gpu, .k = q.gpu, .v = v.gpu}, sizes).out;
  EXPECT_EQ(read_gpu(out), (std::vector<double>{1.0, 1.5}));
}

TEST_P(CudaAttention, NaNInAKeyOrAValueReachesItsOwnAndLaterTokensOnly) {
  const Setting& at = kSmall;
  const Both<Qkv> inputs = random_inputs(at);
  for (const std::int64_t token : {0, 15, 16, 20, 36}) {
    const Tensor bad = poisoned(at.kv_shape(), at.start(token, 1, 1, at.sizes.num_kv_heads));
    for (const bool is_key : {true, false}) {
      Qkv qkv = inputs.gpu;
      (is_key ? qkv.k : qkv.v) = bad;
      const std::vector<double> out = read_gpu(attention(gpu(), qkv, at.sizes).out);
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::int64_t row = static_cast<std::int64_t>(i) / at.q_shape()[1];
        const std::int64_t column = static_cast<std::int64_t>(i) % at.q_shape()[1];
        const bool is_reader = row / 2 >= token && row % 2 == 1 && column / 20 >= 3;
        EXPECT_EQ(std::isnan(out[i]), is_reader && (is_key || column % 20 == 0))
            << "token " << token << (is_key ? " of k" : " of v") << ", row " << row << ", column "
            << column;
      }
    }
  }
}

TEST_P(CudaAttention, NaNInATokensGradientReachesItsQueryAndNoLaterKeyOrValue) {
  const Setting& at = kSmall;
  const Both<AttentionSaved> saved_of = saved(at);
  for (const std::int64_t token : {0, 15, 16, 20, 36}) {
    const Tensor dout = poisoned(at.q_shape(), at.start(token, 1, 4, at.sizes.num_heads));
    const Qkv gradients = attention_backward(gpu(), saved_of.gpu, at.sizes, dout);
    const std::vector<double> dq = read_gpu(gradients.q);
    const std::vector<double> dk = read_gpu(gradients.k);
    const std::vector<double> dv = read_gpu(gradients.v);
    for (std::int64_t s = 0; s < at.seq; ++s) {
      for (const std::int64_t sample : {0, 1}) {
        const bool is_its = sample == 1;
        const auto in_q = [&](std::int64_t head) { return at.start(s, sample, head, 6); };
        EXPECT_EQ(std::isnan(dq[in_q(4)]), is_its && s == token) << token << " " << s;
        EXPECT_FALSE(std::isnan(dq[in_q(3)])) << token << " " << s;
        const auto in_kv = [&](std::int64_t head) { return at.start(s, sample, head, 2); };
        EXPECT_EQ(std::isnan(dk[in_kv(1)]), is_its && s <= token) << token << " " << s;
        EXPECT_EQ(std::isnan(dv[in_kv(1)]), is_its && s <= token) << token << " " << s;
        EXPECT_FALSE(std::isnan(dk[in_kv(0)]) || std::isnan(dv[in_kv(0)])) << token << " " << s;
      }
    }
  }
}

// What the probabilities hold above the diagonal is read by nothing.
TEST_P(CudaAttention, NaNAboveTheDiagonalOfTheProbabilitiesReachesNoGradient) {
  const Setting& at = kSmall;
  const Both<AttentionSaved> saved_of = saved(at);
  const Twin dout = random(at.q_shape());
  std::vector<double> p = values_of(saved_of.cpu.probabilities);
  const auto seq = static_cast<std::size_t>(at.seq);
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (i % seq > i / seq % seq) p[i] = std::nan("");
  }
  AttentionSaved bad = saved_of.gpu;
  bad.probabilities = reals(bad.probabilities.dtype, p, bad.probabilities.shape).gpu;
  const Qkv expected = attention_backward(gpu(), saved_of.gpu, at.sizes, dout.gpu);
  const Qkv gradients = attention_backward(gpu(), bad, at.sizes, dout.gpu);
  for (Tensor Qkv::*member : {&Qkv::q, &Qkv::k, &Qkv::v}) {
    EXPECT_TRUE(test::same_bits(read_gpu(gradients.*member), read_gpu(expected.*member)));
  }
}

TEST_P(CudaAttention, SamplesInterleaveAndGiveTheBitsOfEachAlone) {
  const Setting& at = kSmall;
  const Both<Qkv> inputs = random_inputs(at);
  const std::vector<double> together = read_gpu(attention(gpu(), inputs.gpu, at.sizes).out);
  AttentionSizes one = at.sizes;
  one.batch = 1;
  for (std::size_t sample = 0; sample < 2; ++sample) {
    const auto rows_of_sample = [&](const std::vector<double>& all, std::int64_t width) {
      std::vector<double> rows;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (i / static_cast<std::size_t>(width) % 2 == sample) rows.push_back(all[i]);
      }
      return rows;
    };
    const auto alone = [&](const Tensor& tensor) {
      const std::int64_t width = tensor.shape.last();
      return reals(rows_of_sample(values_of(tensor), width), {at.seq, width}).gpu;
    };
    const Qkv own{.q = alone(inputs.cpu.q), .k = alone(inputs.cpu.k), .v = alone(inputs.cpu.v)};
    EXPECT_TRUE(test::same_bits(read_gpu(attention(gpu(), own, one).out),
                                rows_of_sample(together, at.q_shape()[1])))
        << "sample " << sample;
  }
}

TEST_P(CudaAttention, NoTokensGiveNothing) {
  const Setting at = setting(0, 2, 4, 2, 8);
  const Both<Qkv> inputs = random_inputs(at);
  const AttentionResult result = attention(gpu(), inputs.gpu, at.sizes);
  EXPECT_EQ(read_gpu(result.out).size(), 0U);
  const Qkv gradients =
      attention_backward(gpu(),
                         {.inputs = inputs.gpu, .probabilities = result.probabilities},
                         at.sizes,
                         random(at.q_shape()).gpu);
  EXPECT_EQ(read_gpu(gradients.k).size(), 0U);
}

INSTANTIATE_TEST_SUITE_P(, CudaAttention, kRealTypes, type_name);

}  // namespace
}  // namespace lockstep
