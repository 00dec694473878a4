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
  const matrix::Batch batch = matrix::make_batch(c, 1);
  const matrix::BatchResult second = matrix::run_batch(c, batch, oracle.steps[0].parameters);
  EXPECT_EQ(oracle.steps[1].loss, second.objective);
  EXPECT_EQ(oracle.steps[1].targets, batch.targets_G);
  EXPECT_NE(oracle.steps[0].loss, oracle.steps[1].loss);
}

TEST(Reference, DependsNeitherOnTheLayoutNorOnHowLogitsAreGathered) {
  Case c = small_dense_case();
  const double loss = compute_reference(c).steps[1].loss;
  c.layout.tp = 4;
  c.layout.sp = true;
  c.layout.dp = 2;
  c.model.gather_output = true;
  EXPECT_EQ(compute_reference(c).steps[1].loss, loss);
}

TEST(Reference, KeepsTheParametersThatTrainingStartsFrom) {
  const Case c = small_dense_case();
  const sim::Oracle oracle = compute_reference(c);
  const matrix::Tensors expected = matrix::initial_parameters(c);
  ASSERT_EQ(oracle.initial_parameters.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(oracle.initial_parameters[i].values, expected[i].values);
  }
  EXPECT_TRUE(oracle.single_device.empty());
}

TEST(Reference, LowersTheLossWhenItTrainsOnOneBatchAgain) {
  const Case c = small_case(Mask::kFull, LossNorm::kToken);
  const sim::Oracle oracle = compute_reference(c);
  const matrix::Batch batch = matrix::make_batch(c, 0);
  EXPECT_LT(matrix::run_batch(c, batch, oracle.steps[0].parameters).objective,
            oracle.steps[0].loss);
}

TEST(Reference, OfARunWithoutBackwardHasTheLossesOfTheStartingParametersAndNothingElse) {
  Case c = small_dense_case();
  c.model.attention_sink = true;
  const sim::Oracle training = compute_reference(c);
  c.recipe.forward_only = true;
  const sim::Oracle evaluation = compute_reference(c);
  ASSERT_EQ(evaluation.steps.size(), 2U);
  EXPECT_EQ(evaluation.steps[0].loss, training.steps[0].loss);
  EXPECT_EQ(evaluation.steps[0].micro_batch_losses, training.steps[0].micro_batch_losses);
  EXPECT_NE(evaluation.steps[1].loss, training.steps[1].loss);
  for (std::int64_t number = 0; number < 2; ++number) {
    const sim::OracleStep& step = evaluation.steps[static_cast<std::size_t>(number)];
    const matrix::Tensors start = matrix::initial_parameters(c);
    const matrix::Batch batch = matrix::make_batch(c, number);
    EXPECT_EQ(step.loss, matrix::run_batch(c, batch, start).objective);
    EXPECT_EQ(step.loss, matrix::compute_reference_step(c, number, start).loss);
    EXPECT_EQ(step.targets, batch.targets_G);
    EXPECT_EQ(step.activations.size(), 2U);
    EXPECT_TRUE(step.gradients.empty());
    EXPECT_TRUE(step.clipped_gradients.empty());
    EXPECT_TRUE(step.parameters.empty());
    EXPECT_EQ(step.gradient_norm, 0.0);
    EXPECT_EQ(step.parameter_norm, 0.0);
  }
  EXPECT_EQ(evaluation.initial_parameters.size(), training.initial_parameters.size());
}

TEST(Reference, DoesNotCareHowManyValuesALossFunctionReturns) {
  Case c = small_case(Mask::kUneven, LossNorm::kMicroBatch);
  c.recipe.loss_values = 3;
  const sim::Oracle three = compute_reference(c);
  c.recipe.loss_values = 2;
  const sim::Oracle two = compute_reference(c);
  EXPECT_EQ(two.steps[1].loss, three.steps[1].loss);
  EXPECT_EQ(two.steps[1].gradients.back().values, three.steps[1].gradients.back().values);
}

TEST(Reference, RefusesEverythingThatItDoesNotHave) {
  using Edit = void (*)(Case&);
  const Edit edits[] = {[](Case& c) { c.model.num_experts = 2; }, [](Case& c) { c.model.mtp = 1; }};
  for (std::size_t i = 0; i < std::size(edits); ++i) {
    Case c = small_case(Mask::kFull, LossNorm::kToken);
    edits[i](c);
    EXPECT_THROW(compute_reference(c), UsageError) << "edit " << i;
  }
}

}  // namespace
}  // namespace lockstep::test
