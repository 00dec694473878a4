// The update plan's golden texts, and its executor against numbers worked out by hand.
#include "core/train/update.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/config/presets.h"
#include "core/ops/elementwise.h"
#include "core/ops/host.h"
#include "core/train/optimizer_state.h"
#include "tests/core/train/two_parameters.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::kCut;
using test::kWhole;

Recipe adamw(Precision dtype) {
  Recipe recipe = preset_case("tiny-dense").recipe;
  recipe.dtype = dtype;
  return recipe;
}

TEST(UpdatePlan, GoldenTextOfAdamwOnMasters) {
  EXPECT_EQ(to_text(plan_update(test::two_parameters(2), adamw(Precision::kBF16))),
            "update: adamw with moments on masters, the first counts as 1\n"
            "update.cut: parameter 0, lr 0.001, weight decay 0.1, betas 0.9 0.999, eps 1e-08\n"
            "update.whole: parameter 1, lr 0.001, weight decay 0, betas 0.9 0.999, eps 1e-08\n");
}

TEST(UpdatePlan, GoldenTextOfSgdOnParameters) {
  EXPECT_EQ(to_text(plan_update(test::two_parameters(1), preset_case("tiny-linear").recipe)),
            "update: sgd\n"
            "update.cut: parameter 0, lr 0.1, weight decay 0\n"
            "update.whole: parameter 1, lr 0.1, weight decay 0\n");
}

TEST(UpdatePlan, OnlyPrecisionsWithALargerAccumulationTypeHaveMasters) {
  EXPECT_FALSE(plan_update({}, adamw(Precision::kF64)).state.masters);
  EXPECT_FALSE(plan_update({}, adamw(Precision::kF32)).state.masters);
  EXPECT_TRUE(plan_update({}, adamw(Precision::kBF16)).state.masters);
}

class UpdateTest : public testing::Test, protected test::OpFixture {
 protected:
  // A model whose masters and parameters are all `start` and whose gradients are all `gradient`.
  struct Trial {
    OpContext ops;
    ParameterTable table;
    UpdatePlan plan;
    Parameters parameters;
    OptimizerState state;
    GradientBuckets gradients;
  };
  Trial trial(const Recipe& recipe, double start, double gradient) const {
    const OpContext own{
        .device = ops().device, .kernels = ops().kernels, .dtype = dtype_of(recipe.dtype)};
    const ParameterTable table = test::two_parameters(1);
    const UpdatePlan plan = plan_update(table, recipe);
    const Parameters parameters(own, table);
    const OptimizerState state(own, plan.state, parameters);
    const GradientBuckets gradients(own, test::a_bucket_each(), table);
    for (const Tensor& master : state.masters()) fill(own, master, start, "test.start");
    for (const Tensor& parameter : state.parameters()) fill(own, parameter, start, "test.start");
    gradients.fill_all(gradient, "test.gradient");
    return {.ops = own,
            .table = table,
            .plan = plan,
            .parameters = parameters,
            .state = state,
            .gradients = gradients};
  }

  double first(const Tensor& tensor) const { return read_reals(ops(), tensor, "test.read")[0]; }
};

TEST_F(UpdateTest, SgdSubtractsTheLearningRateTimesTheGradient) {
  Trial t = trial(preset_case("tiny-linear").recipe, 1.0, 0.5);
  update_parameters(t.ops, t.plan, t.gradients, t.state);
  EXPECT_EQ(first(t.parameters[kCut].value), 1.0 - 0.1 * 0.5);
  EXPECT_EQ(t.state.num_updates(), 1);
}

TEST_F(UpdateTest, AdamwDecaysMatricesOnlyAndItsBiasCorrectionsGoByTheNumberOfUpdates) {
  Trial t = trial(adamw(Precision::kF64), 1.0, 0.5);
  for (int update = 1; update <= 2; ++update) {
    update_parameters(t.ops, t.plan, t.gradients, t.state);
    // With equal gradients the corrected moments are g and g^2 at every update.
    const double step = 1e-3 * (0.5 / (0.5 + 1e-8));
    EXPECT_NEAR(first(t.parameters[kWhole].value), 1.0 - update * step, 1e-15);
  }
  const double moved = 1.0 - first(t.parameters[kWhole].value);
  const double decayed = 1e-3 * 0.1 * (1.0 + first(t.parameters[kCut].value) + moved / 2.0);
  EXPECT_NEAR(first(t.parameters[kCut].value), 1.0 - moved - decayed, 1e-6);
  EXPECT_LT(first(t.parameters[kCut].value), first(t.parameters[kWhole].value));
  EXPECT_NEAR(first(t.state.exp_avg()[0]), 0.1 * 0.5 * (1.0 + 0.9), 1e-15);
  EXPECT_NEAR(first(t.state.exp_avg_sq()[0]), 0.001 * 0.25 * (1.0 + 0.999), 1e-15);
}

TEST_F(UpdateTest, AFirstUpdateThatCountsAsTheSecondMovesLess) {
  Trial t = trial(adamw(Precision::kF64), 1.0, 0.5);
  t.plan.first_update = 2;
  update_parameters(t.ops, t.plan, t.gradients, t.state);
  const double m = 0.05 / (1.0 - 0.81);
  const double v = 0.00025 / (1.0 - 0.999 * 0.999);
  EXPECT_NEAR(1.0 - first(t.parameters[kWhole].value), 1e-3 * m / std::sqrt(v), 1e-9);
}

TEST_F(UpdateTest, AnEntryThatIsMissingLeavesItsParameterAndItsMomentsAlone) {
  Trial t = trial(adamw(Precision::kF64), 1.0, 0.5);
  t.plan.entries.pop_back();
  update_parameters(t.ops, t.plan, t.gradients, t.state);
  EXPECT_EQ(first(t.parameters[kWhole].value), 1.0);
  EXPECT_EQ(first(t.state.exp_avg()[1]), 0.0);
  EXPECT_NE(first(t.parameters[kCut].value), 1.0);
}

TEST_F(UpdateTest, MastersOfBf16MoveBelowTheResolutionOfTheirParameters) {
  Trial t = trial(adamw(Precision::kBF16), 1.0, 0.5);
  update_parameters(t.ops, t.plan, t.gradients, t.state);
  EXPECT_NEAR(first(t.state.masters()[1]), 0.999, 1e-6);
  EXPECT_EQ(first(t.parameters[kWhole].value), 1.0) << "1 - 0.001 rounds to 1";
  for (int update = 0; update < 3; ++update) {
    update_parameters(t.ops, t.plan, t.gradients, t.state);
  }
  EXPECT_NEAR(first(t.state.masters()[1]), 0.996, 1e-6);
  EXPECT_EQ(first(t.parameters[kWhole].value), 0.99609375) << "the bf16 nearest to 0.996";
}

TEST_F(UpdateTest, AParameterOfTheAccumulationTypeIsItsOwnMaster) {
  const Trial t = trial(adamw(Precision::kF32), 1.0, 0.5);
  EXPECT_FALSE(t.state.has_masters());
  EXPECT_EQ(t.state.masters()[0].buffer().bytes(), t.parameters[kCut].value.buffer().bytes());
  EXPECT_EQ(t.state.exp_avg()[0].dtype, DType::kF32);
}

TEST_F(UpdateTest, SgdKeepsNoMoments) {
  const Trial t = trial(preset_case("tiny-linear").recipe, 1.0, 0.5);
  EXPECT_TRUE(t.state.exp_avg().empty());
  EXPECT_TRUE(t.state.exp_avg_sq().empty());
}

}  // namespace
}  // namespace lockstep
