// Traced core attention against its formula on the traced linear_qkv: documents, windows, sinks and
// dropout, key by key.
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/random.h"
#include "core/config/data.h"
#include "matrix/reference/decoder.h"
#include "tests/matrix/reference/small_case.h"

namespace lockstep::test {
namespace {

using matrix::Tensors;

constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kHeadDim = 4;
constexpr std::int64_t kQkvColumns = (4 + 2 * 2) * 4;

// Heads alone: neither norms nor rope between linear_qkv and core attention.
Case bare_case() {
  Case c = small_dense_case();
  c.model.qk_norm = false;
  c.model.position = Position::kNone;
  return c;
}

// One micro-batch of a step and what attention in it reads.
struct Place {
  const Case& c;
  std::int64_t step;
  std::int64_t micro_batch;
  std::int64_t layer;
  const std::vector<double>& qkv;  // sequence-major
  std::span<const double> sink_Q;

  // Head `head` of a group's [q q | k | v].
  const double* at(std::int64_t position, std::int64_t sample, std::int64_t group, int head) const {
    const std::int64_t row = position * c.recipe.micro_batch + sample;
    return qkv.data() + row * kQkvColumns + (group * 4 + head) * kHeadDim;
  }

  double factor(std::int64_t position,
                std::int64_t sample,
                std::int64_t head,
                std::int64_t key) const {
    const std::int64_t token =
        first_token_of(c, step, micro_batch * c.recipe.micro_batch + sample) + position;
    const double draw =
        random_unit(static_cast<std::uint64_t>(c.recipe.seed),
                    dropout_stream("decoder.layers." + std::to_string(layer) +
                                   ".self_attention.core_attention"),
                    static_cast<std::uint64_t>((token * kHeads + head) * c.recipe.seq + key));
    return draw < c.recipe.dropout ? 0.0 : 1.0 / (1.0 - c.recipe.dropout);
  }

  bool sees(std::int64_t position, std::int64_t sample, std::int64_t key) const {
    if (key > position) return false;
    const std::int64_t window = c.model.sliding_window;
    if (window > 0 && position - key >= window) return false;
    for (const std::int64_t start :
         document_starts(c, step, micro_batch * c.recipe.micro_batch + sample)) {
      if (key < start && start <= position) return false;
    }
    return true;
  }

  // Of a head's output.
  std::vector<double> out(std::int64_t position, std::int64_t sample, std::int64_t head) const {
    double sum = sink_Q.empty() ? 0.0 : std::exp(sink_Q[static_cast<std::size_t>(head)]);
    std::vector<double> result(kHeadDim);
    const double* q = at(position, sample, head / 2, static_cast<int>(head % 2));
    for (std::int64_t key = 0; key < c.recipe.seq; ++key) {
      if (!sees(position, sample, key)) continue;
      const double* k = at(key, sample, head / 2, 2);
      double dot = 0.0;
      for (int i = 0; i < kHeadDim; ++i) dot += q[i] * k[i];
      const double weight = std::exp(dot / 2.0);
      sum += weight;
      const double kept = c.recipe.dropout > 0.0 ? factor(position, sample, head, key) : 1.0;
      for (int i = 0; i < kHeadDim; ++i) {
        result[static_cast<std::size_t>(i)] += kept * weight * at(key, sample, head / 2, 3)[i];
      }
    }
    for (double& value : result) value /= sum;
    return result;
  }
};

const std::vector<double>& traced(const std::vector<sim::OracleTensor>& activations,
                                  const std::string& name) {
  for (const sim::OracleTensor& activation : activations) {
    if (activation.name == name) return activation.values;
  }
  throw std::out_of_range(name);
}

void expect_formula(const Case& c, std::int64_t step) {
  const Tensors parameters = matrix::initial_parameters(c);
  const matrix::BatchResult result = matrix::run_batch(c, matrix::make_batch(c, step), parameters);
  for (std::size_t g = 0; g < result.activations.size(); ++g) {
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      const std::string prefix = "decoder.layers." + std::to_string(layer) + ".self_attention.";
      const Place place{
          .c = c,
          .step = step,
          .micro_batch = static_cast<std::int64_t>(g),
          .layer = layer,
          .qkv = traced(result.activations[g], prefix + "linear_qkv"),
          .sink_Q = matrix::values_of(parameters, prefix + "core_attention.softmax_offset")};
      ASSERT_EQ(place.sink_Q.size(), c.model.attention_sink ? 4U : 0U);
      const std::vector<double>& out = traced(result.activations[g], prefix + "core_attention");
      for (std::int64_t row = 0; row < c.recipe.seq * c.recipe.micro_batch; ++row) {
        for (std::int64_t head = 0; head < kHeads; ++head) {
          const std::vector<double> expected =
              place.out(row / c.recipe.micro_batch, row % c.recipe.micro_batch, head);
          for (std::int64_t i = 0; i < kHeadDim; ++i) {
            EXPECT_NEAR(out[static_cast<std::size_t>((row * kHeads + head) * kHeadDim + i)],
                        expected[static_cast<std::size_t>(i)],
                        1e-14);
          }
        }
      }
    }
  }
}

TEST(ReferenceAttentionFormula, HoldsForAWindowASinkPackingAndDropoutAlone) {
  using Edit = void (*)(Case&);
  const Edit edits[] = {[](Case& c) { c.model.sliding_window = 2; },
                        [](Case& c) { c.model.attention_sink = true; },
                        pack,
                        [](Case& c) { c.recipe.dropout = 0.25; }};
  for (const Edit edit : edits) {
    Case c = bare_case();
    edit(c);
    expect_formula(c, 1);
  }
}

TEST(ReferenceAttentionFormula, HoldsForAllTogetherInMicroBatchesOfOneAndTwo) {
  for (const std::int64_t micro_batch : {1, 2}) {
    Case c = bare_case();
    take_everything(c);
    c.recipe.micro_batch = micro_batch;
    expect_formula(c, 1);
  }
}

Tensors with_sinks(const Case& c, double logit) {
  Tensors parameters = matrix::initial_parameters(c);
  for (sim::OracleTensor& parameter : parameters) {
    if (!parameter.name.ends_with("softmax_offset")) continue;
    for (double& value : parameter.values) value = logit;
  }
  return parameters;
}

TEST(ReferenceSink, FarBelowAllScoresIsNoSink) {
  Case c = small_dense_case();
  const matrix::Batch batch = matrix::make_batch(c, 0);
  const matrix::BatchResult none = matrix::run_batch(c, batch, matrix::initial_parameters(c));
  c.model.attention_sink = true;
  const matrix::BatchResult far = matrix::run_batch(c, batch, with_sinks(c, -1e3));
  EXPECT_EQ(far.objective, none.objective);
  EXPECT_EQ(far.micro_batch_losses, none.micro_batch_losses);
  for (const sim::OracleTensor& gradient : far.gradients) {
    if (!gradient.name.ends_with("softmax_offset")) continue;
    for (const double value : gradient.values) EXPECT_EQ(value, 0.0);
  }
  EXPECT_NE(matrix::run_batch(c, batch, with_sinks(c, -1.0)).objective, none.objective);
}

TEST(ReferenceSink, FarAboveAllScoresLeavesNothingOfAttention) {
  Case c = small_dense_case();
  c.model.attention_sink = true;
  const matrix::BatchResult result =
      matrix::run_batch(c, matrix::make_batch(c, 0), with_sinks(c, 1e3));
  const std::string name = "decoder.layers.1.self_attention.core_attention";
  for (const double value : traced(result.activations[0], name)) EXPECT_EQ(value, 0.0);
  EXPECT_TRUE(std::isfinite(result.objective));
  for (const sim::OracleTensor& gradient : result.gradients) {
    for (const double value : gradient.values) ASSERT_TRUE(std::isfinite(value)) << gradient.name;
  }
}

}  // namespace
}  // namespace lockstep::test
