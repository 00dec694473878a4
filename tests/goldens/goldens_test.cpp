// The core at one rank and the reference give what Hugging Face's models give.
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/errors.h"
#include "matrix/reference/decoder.h"
#include "tests/goldens/compare.h"
#include "tests/goldens/hugging_face.h"
#include "tests/goldens/run_core.h"

namespace lockstep::test {
namespace {

constexpr double kBoundF64 = 1e-12;
constexpr double kBoundF32 = 1e-5;  // against a run whose own rounding is that of f32

Outcome run_reference(const Golden& golden, const matrix::Tensors& parameters) {
  const matrix::BatchResult result = matrix::run_batch(golden.c, golden.batch, parameters);
  return {.loss = result.objective,
          .logits_TV = result.activations.at(0).back(),
          .gradients = result.gradients};
}

Case in_f32(Case c) {
  c.recipe.dtype = Precision::kF32;
  return c;
}

void expect_near(const Outcome& actual, const Outcome& expected, double bound) {
  const Distance worst = distance(actual, expected);
  testing::Test::RecordProperty("error", std::to_string(worst.error / bound) + " of the bound");
  EXPECT_LE(worst.error, bound) << worst.where;
}

class Goldens : public testing::TestWithParam<const char*> {
 protected:
  std::string name() const { return GetParam(); }
  const Golden& golden() const { return golden_; }

 private:
  Golden golden_ = read_golden(GetParam());
};

TEST_P(Goldens, EveryWeightOfTheFileIsAParameter) {
  EXPECT_EQ(unread_weights(name()), (std::vector<std::string>{}));
}

TEST_P(Goldens, SomeLabelsCountAndSomeDoNot) {
  const std::int64_t targets = golden().batch.targets_G.at(0);
  EXPECT_GT(targets, 0);
  EXPECT_LT(targets, golden().batch.tokens_a_micro_batch);
}

TEST_P(Goldens, TheReferenceMatchesF64) {
  expect_near(run_reference(golden(), golden().parameters), golden().f64, kBoundF64);
}

TEST_P(Goldens, TheReferenceMatchesTheUnpatchedF32Run) {
  expect_near(run_reference(golden(), golden().parameters), golden().f32, kBoundF32);
}

TEST_P(Goldens, TheCoreMatchesF64) {
  expect_near(run_core(golden().c, golden().batch, golden().parameters), golden().f64, kBoundF64);
}

TEST_P(Goldens, TheCoreInF32MatchesTheUnpatchedF32Run) {
  expect_near(
      run_core(in_f32(golden().c), golden().batch, golden().parameters), golden().f32, kBoundF32);
}

TEST_P(Goldens, TheReferenceWithQkvInBlocksIsFarOff) {
  const matrix::Tensors wrong = read_parameters(name(), QkvOrder::kBlocks);
  EXPECT_GT(distance(run_reference(golden(), wrong), golden().f64).error, 0.1);
}

TEST_P(Goldens, TheCoreWithQkvInBlocksIsFarOff) {
  const matrix::Tensors wrong = read_parameters(name(), QkvOrder::kBlocks);
  EXPECT_GT(distance(run_core(golden().c, golden().batch, wrong), golden().f64).error, 0.1);
}

INSTANTIATE_TEST_SUITE_P(HuggingFace,
                         Goldens,
                         testing::Values("qwen3", "llama"),
                         [](const auto& model) { return std::string(model.param); });

TEST(Distance, NamesTheTensorThatIsOff) {
  const Golden golden = read_golden("qwen3");
  Outcome off = golden.f64;
  off.gradients.at(3).values.at(0) += 1e-3;
  const Distance worst = distance(off, golden.f64);
  EXPECT_GT(worst.error, 1e-6);
  EXPECT_EQ(worst.where, "gradient of " + golden.f64.gradients.at(3).name);
  off.loss *= 2.0;
  EXPECT_EQ(distance(off, golden.f64).where, "loss");
}

TEST(Distance, CountsNaNAsWorst) {
  const Golden golden = read_golden("llama");
  Outcome off = golden.f64;
  off.logits_TV.values.at(7) = std::nan("");
  off.gradients.at(0).values.at(0) += 1.0;
  const Distance worst = distance(off, golden.f64);
  EXPECT_FALSE(worst.error <= 1e300);
  EXPECT_EQ(worst.where, "logits");
}

TEST(JoinRows, PutsGroupsOfQueryHeadsTogether) {
  Model model = default_case().model;
  model.num_key_value_heads = 2;
  const std::vector<std::vector<double>> qkv = {{1, 2, 3, 4}, {5, 6}, {7, 8}};
  EXPECT_EQ(join_rows(Join::kQkvGroups, qkv, model), (std::vector<double>{1, 2, 5, 7, 3, 4, 6, 8}));
  EXPECT_EQ(join_rows(Join::kRows, qkv, model), (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(SourceOf, NamesWhatAParameterComesFrom) {
  EXPECT_EQ(source_of("decoder.layers.11.mlp.linear_fc1.bias").names,
            (std::vector<std::string>{"model.layers.11.mlp.gate_proj.bias",
                                      "model.layers.11.mlp.up_proj.bias"}));
  EXPECT_EQ(source_of("decoder.layers.0.self_attention.linear_qkv.layer_norm_weight").names,
            (std::vector<std::string>{"model.layers.0.input_layernorm.weight"}));
  EXPECT_THROW(source_of("decoder.layers.0.mlp.router.weight"), UsageError);
}

}  // namespace
}  // namespace lockstep::test
