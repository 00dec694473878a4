// What is known before a trial of how near its values must be, and what a step adds to it.
#include "simulator/checks/measured_oracle.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/errors.h"
#include "simulator/checks/inherited.h"
#include "simulator/checks/loss.h"
#include "simulator/checks/norms.h"
#include "tests/simulator/checks/fake_trial.h"

namespace lockstep::test {
namespace {

using sim::MeasuredOracle;

// A single-device run that is the reference but for what a test damages.
FakeTrial exact_trial() {
  FakeTrial fake = make_trial({1, 1}, {.dtype = Precision::kF32});
  fake.oracle.single_device = fake.oracle.steps;
  return fake;
}

TEST(MeasuredOracle, HoldsF64AgainstOneBound) {
  const MeasuredOracle oracle = make_trial({1, 1}).measured();
  EXPECT_FALSE(oracle.is_held_against_single_device());
  EXPECT_EQ(oracle.measures(1).loss_bound, 1e-10);
  EXPECT_EQ(oracle.measures(1).micro_batch_loss_bounds, std::vector<double>(12, 1e-10));
  EXPECT_EQ(oracle.measures(1).gradient_norm_bound, 1e-10);
  EXPECT_EQ(oracle.measures(1).parameter_norm_bound, 1e-10);
}

TEST(MeasuredOracle, AllowsLossesEightTimesTheirErrorOrTheRmsOfTheStep) {
  FakeTrial fake = exact_trial();
  fake.oracle.single_device[0].micro_batch_losses[3] *= 1.0 + 1e-6;
  const sim::StepMeasures measures = fake.measured().measures(0);
  EXPECT_NEAR(measures.micro_batch_loss_bounds[3], 8e-6, 1e-12);
  const double rms = 1e-6 / std::sqrt(13.0);
  EXPECT_NEAR(measures.micro_batch_loss_bounds[4], 8.0 * rms, 1e-12);
  EXPECT_NEAR(measures.loss_bound, 8.0 * rms, 1e-12);
}

TEST(MeasuredOracle, AllowsALossThatIsRightByLuckWhatItsLogitsAreOff) {
  FakeTrial fake = exact_trial();
  for (double& value : fake.oracle.single_device[0].activations[3].back().values) value += 1e-5;
  fake.oracle.steps[0].targets[5] = 0;
  for (double& value : fake.oracle.single_device[0].activations[5].back().values) value += 1.0;
  const sim::StepMeasures measures = fake.measured().measures(0);
  EXPECT_NEAR(measures.micro_batch_loss_bounds[3] * fake.oracle.steps[0].micro_batch_losses[3],
              8e-5,
              1e-10);
  EXPECT_NEAR(measures.loss_bound * fake.oracle.steps[0].loss, 8e-5, 1e-10);
  EXPECT_EQ(measures.micro_batch_loss_bounds[5], 0.0) << "nothing there has a target";
}

TEST(MeasuredOracle, AllowsANormWhatItsTensorsAreOff) {
  FakeTrial fake = exact_trial();
  fake.oracle.single_device[0].gradients[2].values[7] += 1e-4;
  fake.oracle.single_device[0].parameters[2].values[7] += 1e-5;
  const sim::StepMeasures measures = fake.measured().measures(0);
  EXPECT_NEAR(measures.gradient_norm_bound * fake.oracle.steps[0].gradient_norm, 8e-4, 1e-12);
  EXPECT_NEAR(measures.parameter_norm_bound * fake.oracle.steps[0].parameter_norm, 8e-5, 1e-12);
}

TEST(MeasuredOracle, RefusesASingleDeviceRunOfAnotherModel) {
  FakeTrial fake = exact_trial();
  fake.oracle.single_device.pop_back();
  EXPECT_THROW(fake.measured(), InternalError);
  fake = exact_trial();
  fake.oracle.single_device[1].gradients.pop_back();
  EXPECT_THROW(fake.measured(), InternalError);
  fake = exact_trial();
  fake.oracle.single_device[0].activations[4].back().name = "logits";
  EXPECT_THROW(fake.measured(), InternalError);
}

TEST(InheritedError, IsWhatTheRunsParametersWereOffBeforeTheStep) {
  FakeTrial fake = make_trial({2, 3}, {.dtype = Precision::kF32});
  // One tensor off by a thousandth in every block.
  fake.on_all_ranks(0, [](StepResult& step) { scale(named(step.parameters, kFc1).values, 1.001); });
  EXPECT_EQ(sim::inherited_error(fake.trial, fake.measured(), 0), 0.0);
  EXPECT_NEAR(sim::inherited_error(fake.trial, fake.measured(), 1), 1e-3, 1e-6);
}

TEST(InheritedError, IsThatOfMastersWhereThereAreAny) {
  FakeTrial fake = make_trial({2, 3}, adamw_recipe(Precision::kBF16));
  EXPECT_LT(sim::inherited_error(fake.trial, fake.measured(), 1), 1e-5);
  fake.on_all_ranks(0, [](StepResult& step) { scale(named(step.masters, kFc1).values, 1.001); });
  EXPECT_NEAR(sim::inherited_error(fake.trial, fake.measured(), 1), 1e-3, 1e-5);
}

TEST(InheritedError, IsNoneInF64) {
  FakeTrial fake = make_trial({2, 3});
  fake.on_all_ranks(0, [](StepResult& step) { scale(named(step.parameters, kFc1).values, 2.0); });
  EXPECT_EQ(sim::inherited_error(fake.trial, fake.measured(), 1), 0.0);
}

TEST(InheritedError, GivesALaterStepsLossAndNormsRoomButNotTheFirsts) {
  FakeTrial fake = make_trial({2, 3}, {.dtype = Precision::kF32});
  fake.on_all_ranks(0, [](StepResult& step) { scale(named(step.parameters, kFc1).values, 1.001); });
  fake.on_all_ranks(1, [](StepResult& step) { step.loss *= 1.004; });
  EXPECT_EQ(sim::check_loss(fake.trial, fake.measured()).verdict, sim::CheckVerdict::kPass);
  fake.on_all_ranks(1, [](StepResult& step) { step.loss *= 1.008; });
  EXPECT_EQ(sim::check_loss(fake.trial, fake.measured()).verdict, sim::CheckVerdict::kFail);
  fake = make_trial({2, 3}, {.dtype = Precision::kF32});
  fake.on_all_ranks(0, [](StepResult& step) { step.loss *= 1.004; });
  EXPECT_EQ(sim::check_loss(fake.trial, fake.measured()).verdict, sim::CheckVerdict::kFail);
}

}  // namespace
}  // namespace lockstep::test
