// A run without backward passes is judged by what its forward passes give, and by nothing else.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "simulator/checks/checks.h"
#include "simulator/checks/holdings.h"
#include "tests/simulator/checks/fake_trial.h"

namespace lockstep::test {
namespace {

using sim::CheckResult;
using sim::CheckVerdict;

CheckResult run(const FakeTrial& fake, std::string_view check) {
  return sim::find_check(check)->run(fake.trial, fake.measured());
}

FakeRecipe forward_only(Precision dtype = Precision::kF64) {
  FakeRecipe recipe = adamw_recipe(dtype);
  recipe.forward_only = true;
  return recipe;
}

TEST(ForwardOnly, IsJudgedByLossActivationsAndCollectives) {
  for (const Precision dtype : {Precision::kF64, Precision::kF32, Precision::kBF16}) {
    const FakeTrial fake = make_trial({.tp = 2, .dp = 3, .cp = 2}, forward_only(dtype));
    for (const char* check : {"loss", "activations", "collectives"}) {
      const CheckResult result = run(fake, check);
      EXPECT_EQ(result.verdict, CheckVerdict::kPass) << check << ": " << result.reason;
      EXPECT_GT(result.compared, 0) << check;
      EXPECT_EQ(result.compared, result.expected) << check;
    }
  }
}

TEST(ForwardOnly, HasNothingForTheChecksOfGradientsAndUpdates) {
  const FakeTrial fake = make_trial({.tp = 2, .dp = 3}, forward_only());
  for (const char* check : {"grads", "replicas", "norms", "clip", "update", "params"}) {
    const CheckResult result = run(fake, check);
    EXPECT_EQ(result.verdict, CheckVerdict::kNotApplicable) << check;
    EXPECT_EQ(result.reason, "a forward_only run has no gradients and updates nothing") << check;
    EXPECT_EQ(result.expected, 0) << check;
  }
  EXPECT_TRUE(sim::kinds_of(fake.trial.c.recipe).empty());
}

TEST(ForwardOnly, FailsWhereALossOrAnActivationIsWrong) {
  FakeTrial fake = make_trial({.tp = 2, .dp = 3}, forward_only());
  fake.step(0, 1).losses[0].loss_sum *= 2.0;
  EXPECT_EQ(run(fake, "loss").verdict, CheckVerdict::kFail);
  fake.activation(3, 1, 0, kLogits).values[0] += 1.0;
  EXPECT_EQ(run(fake, "activations").verdict, CheckVerdict::kFail);
}

TEST(ForwardOnly, FailsWhereARankLacksAStep) {
  FakeTrial fake = make_trial({.dp = 3}, forward_only());
  fake.trial.ranks[2].steps.pop_back();
  EXPECT_EQ(run(fake, "loss").reason, "rank 2 finished 1 of 2 steps");
  EXPECT_EQ(run(fake, "activations").reason, "rank 2 finished 1 of 2 steps");
}

TEST(ForwardOnly, FailsWhereARankHasGradientsAllTheSame) {
  FakeTrial fake = make_trial({.dp = 3}, forward_only());
  const FakeTrial training = make_trial({.dp = 3}, adamw_recipe(Precision::kF64));
  fake.step(2, 1).gradients = training.trial.ranks[2].steps[1].gradients;
  const CheckResult result = run(fake, "loss");
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_NE(result.reason.find("as gradient, of which this recipe has none"), std::string::npos)
      << result.reason;
}

}  // namespace
}  // namespace lockstep::test
