// The params check looks at parameters, where grads looks at gradients.
#include "simulator/checks/params.h"

#include <gtest/gtest.h>

#include "tests/simulator/checks/fake_trial.h"

namespace lockstep::test {
namespace {

using sim::check_params;
using sim::CheckResult;
using sim::CheckVerdict;

TEST(ParamsCheck, PassesOnAFlawlessTrial) {
  const FakeTrial fake = make_trial({2, 3});
  const CheckResult result = check_params(fake.trial, fake.measured());
  EXPECT_EQ(result.check, "params");
  EXPECT_EQ(result.verdict, CheckVerdict::kPass) << result.reason;
  EXPECT_EQ(result.compared, 2 * 4 * 6);
}

TEST(ParamsCheck, FindsAParameterThatWasNotUpdatedAtTheSecondStep) {
  FakeTrial fake = make_trial({2, 1});
  fake.parameter(1, 1, kFc1).values = fake.parameter(1, 0, kFc1).values;
  const CheckResult result = check_params(fake.trial, fake.measured());
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, std::string(kFc1) + " (step 1)");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{1}));
}

TEST(ParamsCheck, DoesNotLookAtGradients) {
  FakeTrial fake = make_trial({2, 1});
  scale(fake.gradient(0, 0, kFc1).values, 2.0);
  EXPECT_EQ(check_params(fake.trial, fake.measured()).verdict, CheckVerdict::kPass);
}

TEST(ParamsCheck, FailsWhereARankLacksAParameter) {
  FakeTrial fake = make_trial({2, 1});
  fake.step(0, 0).parameters.erase(fake.step(0, 0).parameters.begin());
  const CheckResult result = check_params(fake.trial, fake.measured());
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_NE(result.compared, result.expected);
}

TEST(ParamsCheck, DoesNotApplyBelowFloat64) {
  FakeTrial fake = make_trial({1, 1});
  fake.trial.c.recipe.dtype = Precision::kF32;
  EXPECT_EQ(check_params(fake.trial, fake.measured()).verdict, CheckVerdict::kNotApplicable);
}

}  // namespace
}  // namespace lockstep::test
