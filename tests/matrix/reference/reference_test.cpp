// Training over steps: names, shapes, updates, and what the reference refuses.
#include "matrix/reference/reference.h"

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "matrix/reference/decoder.h"
#include "tests/matrix/reference/small_case.h"

namespace lockstep::test {
namespace {

using matrix::compute_reference;

TEST(Reference, ListsTheParametersOfTinyLinearInRegistrationOrder) {
  using Shape = std::vector<std::int64_t>;
  const std::vector<std::pair<std::string, Shape>> expected = {
      {"embedding.word_embeddings.weight", {90, 32}},
      {"decoder.layers.0.mlp.linear_fc1.layer_norm_weight", {32}},
      {"decoder.layers.0.mlp.linear_fc1.weight", {48, 32}},
      {"decoder.layers.0.mlp.linear_fc2.weight", {32, 48}},
      {"decoder.layers.1.mlp.linear_fc1.layer_norm_weight", {32}},
      {"decoder.layers.1.mlp.linear_fc1.weight", {48, 32}},
      {"decoder.layers.1.mlp.linear_fc2.weight", {32, 48}},
      {"decoder.final_layernorm.weight", {32}},
      {"output_layer.weight", {90, 32}}};
  const sim::Oracle oracle = compute_reference(preset_case("tiny-linear"));
  ASSERT_EQ(oracle.steps.size(), 2U);
  for (const sim::OracleStep& step : oracle.steps) {
    ASSERT_EQ(step.gradients.size(), expected.size());
    ASSERT_EQ(step.parameters.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(step.gradients[i].name, expected[i].first);
      EXPECT_EQ(step.gradients[i].shape, expected[i].second);
      EXPECT_EQ(step.parameters[i].name, expected[i].first);
      EXPECT_EQ(step.parameters[i].shape, expected[i].second);
    }
  }
}

TEST(Reference, StartsEachParameterFromTheSeedItsNameKindAndFanIn) {
  Case c = preset_case("tiny-linear");
  c.recipe.seed = 5;
  struct Start {
    InitKind kind;
    std::int64_t fan_in;
  };
  constexpr InitKind kWeight = InitKind::kWeight;
  constexpr InitKind kNorm = InitKind::kNormWeight;
  const std::vector<Start> starts = {{kWeight, 1},
                                     {kNorm, 1},
                                     {kWeight, 32},
                                     {kWeight, 48},
                                     {kNorm, 1},
                                     {kWeight, 32},
                                     {kWeight, 48},
                                     {kNorm, 1},
                                     {kWeight, 32}};
  // fan_in 32 and 48 give the same power of two; 12 tells the row-parallel one apart.
  for (const std::int64_t ffn : {48, 12}) {
    c.model.intermediate_size = ffn;
    const matrix::Tensors tensors = matrix::initial_parameters(c);
    ASSERT_EQ(tensors.size(), starts.size());
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::int64_t fan_in = starts[i].fan_in == 48 ? ffn : starts[i].fan_in;
      for (std::size_t j = 0; j < tensors[i].values.size(); ++j) {
        ASSERT_EQ(tensors[i].values[j],
                  InitialValues(
                      5, tensors[i].name, starts[i].kind, fan_in)[static_cast<std::int64_t>(j)]);
      }
    }
  }
}

TEST(Reference, MovesEveryParameterAgainstItsGradientByTheLearningRate) {
  const Case c = small_case(Mask::kUneven, LossNorm::kToken);
  const sim::Oracle oracle = compute_reference(c);
  matrix::Tensors before = matrix::initial_parameters(c);
  for (const sim::OracleStep& step : oracle.steps) {
    for (std::size_t i = 0; i < before.size(); ++i) {
      for (std::size_t j = 0; j < before[i].values.size(); ++j) {
        EXPECT_EQ(step.parameters[i].values[j],
                  before[i].values[j] - c.recipe.lr * step.gradients[i].values[j]);
      }
    }
    before = step.parameters;
  }
}

TEST(Reference, TrainsEachStepOnItsOwnDataFromTheParametersBefore) {
  const Case c = small_case(Mask::kUneven, LossNorm::kMicroBatch);
  const sim::Oracle oracle = compute_reference(c);
  const matrix::BatchResult second = matrix::run_batch(c, 1, oracle.steps[0].parameters);
  EXPECT_EQ(oracle.steps[1].loss, second.objective);
  EXPECT_EQ(oracle.steps[1].targets, second.targets);
  EXPECT_NE(oracle.steps[0].loss, oracle.steps[1].loss);
}

TEST(Reference, DoesNotDependOnTheLayout) {
  Case c = small_case(Mask::kUneven, LossNorm::kToken);
  const double loss = compute_reference(c).steps[1].loss;
  c.layout.tp = 4;
  c.layout.dp = 3;
  EXPECT_EQ(compute_reference(c).steps[1].loss, loss);
}

TEST(Reference, LowersTheLossWhenItTrainsOnOneBatchAgain) {
  const Case c = small_case(Mask::kFull, LossNorm::kToken);
  const sim::Oracle oracle = compute_reference(c);
  EXPECT_LT(matrix::run_batch(c, 0, oracle.steps[0].parameters).objective, oracle.steps[0].loss);
}

TEST(Reference, RefusesEverythingThatItDoesNotHave) {
  using Edit = void (*)(Case&);
  const Edit edits[] = {[](Case& c) { c.model.attention = Attention::kCausal; },
                        [](Case& c) { c.model.norm = Norm::kLayer; },
                        [](Case& c) { c.model.mlp = Mlp::kGated; },
                        [](Case& c) { c.model.bias = true; },
                        [](Case& c) { c.model.tied = true; },
                        [](Case& c) { c.model.num_experts = 2; },
                        [](Case& c) { c.model.mtp = 1; },
                        [](Case& c) { c.recipe.optimizer = Optimizer::kAdamW; },
                        [](Case& c) { c.recipe.weight_decay = 0.1; },
                        [](Case& c) { c.recipe.clip = 1.0; },
                        [](Case& c) { c.recipe.dropout = 0.1; },
                        [](Case& c) { c.recipe.label_smoothing = 0.1; },
                        [](Case& c) { c.recipe.packing = true; },
                        [](Case& c) { c.recipe.forward_only = true; }};
  for (std::size_t i = 0; i < std::size(edits); ++i) {
    Case c = small_case(Mask::kFull, LossNorm::kToken);
    edits[i](c);
    EXPECT_THROW(compute_reference(c), UsageError) << "edit " << i;
  }
}

}  // namespace
}  // namespace lockstep::test
