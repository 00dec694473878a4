// What is known before a trial of how near its values must be.
#include "simulator/checks/measured_oracle.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/errors.h"
#include "simulator/checks/holdings.h"
#include "simulator/checks/loss.h"
#include "tests/simulator/checks/fake_trial.h"

namespace lockstep::test {
namespace {

using sim::MeasuredOracle;

void clear(std::vector<sim::OracleTensor>& tensors) {
  for (sim::OracleTensor& tensor : tensors) tensor.values.assign(tensor.values.size(), 0.0);
}

// A single-device run that is off nowhere but where a test damages it.
FakeTrial exact_trial() {
  FakeTrial fake = make_trial({1, 1}, {.dtype = Precision::kF32});
  for (sim::OracleStep& step : fake.oracle.single_device) {
    step.micro_batch_losses.assign(step.micro_batch_losses.size(), 0.0);
    step.loss = step.gradient_norm = 0.0;
    for (std::vector<sim::OracleTensor>& activations : step.activations) clear(activations);
    clear(step.gradients);
    clear(step.clipped_gradients);
  }
  fake.oracle.single_device_mean = fake.oracle.single_device;
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

TEST(MeasuredOracle, AllowsALossEightTimesWhatTheSingleDeviceIsOff) {
  FakeTrial fake = exact_trial();
  fake.oracle.single_device[0].micro_batch_losses[3] = -1e-6;
  fake.oracle.single_device[0].loss = 1e-7;
  const sim::StepMeasures measures = fake.measured().measures(0);
  const sim::OracleStep& reference = fake.oracle.steps[0];
  EXPECT_NEAR(measures.micro_batch_loss_bounds[3] * reference.micro_batch_losses[3], 8e-6, 1e-12);
  EXPECT_EQ(measures.micro_batch_loss_bounds[4], 0.0);
  EXPECT_NEAR(measures.loss_bound * reference.loss, 8e-7, 1e-13);
  // Micro-batch 3 has 4 targets of 33.
  EXPECT_NEAR(
      measures.reported_loss_bound * sim::reported_loss(reference), 8e-6 * 4.0 / 33.0, 1e-12);
}

TEST(MeasuredOracle, AllowsALossThatIsRightByLuckWhatItsLogitsAreOff) {
  FakeTrial fake = exact_trial();
  for (double& value : fake.oracle.single_device[0].activations[3].back().values) value = 1e-5;
  fake.oracle.steps[0].targets[5] = 0;
  for (double& value : fake.oracle.single_device[0].activations[5].back().values) value = 1.0;
  const sim::StepMeasures measures = fake.measured().measures(0);
  EXPECT_NEAR(measures.micro_batch_loss_bounds[3] * fake.oracle.steps[0].micro_batch_losses[3],
              8e-5,
              1e-10);
  EXPECT_NEAR(measures.loss_bound * fake.oracle.steps[0].loss, 8e-5, 1e-10);
  EXPECT_NEAR(measures.reported_loss_bound * sim::reported_loss(fake.oracle.steps[0]), 8e-5, 1e-10);
  EXPECT_EQ(measures.micro_batch_loss_bounds[5], 0.0) << "nothing there has a target";
}

TEST(MeasuredOracle, ReportsAllLossSumsOverAllTargets) {
  sim::OracleStep step;
  step.micro_batch_losses = {3.0, 0.0, 6.0};
  step.targets = {2, 0, 1};
  EXPECT_EQ(sim::reported_loss(step), 4.0);
  step.micro_batch_losses = {0.0, 0.0, 0.0};
  step.targets = {0, 0, 0};
  EXPECT_EQ(sim::reported_loss(step), 0.0);
}

TEST(MeasuredOracle, AllowsTheGradientNormWhatItsTensorsAreOff) {
  FakeTrial fake = exact_trial();
  fake.oracle.single_device[0].gradients[2].values[7] = 1e-4;
  const sim::StepMeasures measures = fake.measured().measures(0);
  EXPECT_NEAR(measures.gradient_norm_bound * fake.oracle.steps[0].gradient_norm, 8e-4, 1e-12);
}

// One tensor off by these parts of itself: in the root mean square over the draws, and in the mean.
std::string misfit_of_draws(double usual, double mean) {
  FakeTrial fake = exact_trial();
  const std::vector<double>& right = fake.oracle.steps[1].gradients[2].values;
  for (std::size_t i = 0; i < right.size(); ++i) {
    fake.oracle.single_device[1].gradients[2].values[i] = usual * right[i];
    fake.oracle.single_device_mean[1].gradients[2].values[i] = mean * right[i];
  }
  const std::string misfit = sim::steps_misfit_of(fake.trial, fake.measured());
  EXPECT_EQ(sim::check_loss(fake.trial, fake.measured()).reason, misfit);
  return misfit;
}

// What a single device does wrong in a precision, every layout does too: eight times its error
// would cover it. 64 epsilons of f32 are 7.6e-6.
TEST(MeasuredOracle, TellsWhereTheSingleDeviceIsOffAlikeInEveryDraw) {
  EXPECT_EQ(misfit_of_draws(7e-6, 7e-6), "");
  const std::string misfit = misfit_of_draws(1e-5, 1e-5);
  EXPECT_NE(misfit.find("a single device is itself off by 1e-05 of "), std::string::npos) << misfit;
  EXPECT_NE(misfit_of_draws(1e-5, 0.9e-5), "");
}

TEST(MeasuredOracle, TakesWhatScattersFromDrawToDrawForRoundingEightTimesAsFar) {
  EXPECT_EQ(misfit_of_draws(5e-5, 5e-5 / 3.0), "");
  EXPECT_NE(misfit_of_draws(7e-5, 7e-5 / 3.0), "") << "as much as another precision's";
}

TEST(MeasuredOracle, RefusesASingleDeviceRunOfAnotherModel) {
  FakeTrial fake = exact_trial();
  fake.oracle.single_device.pop_back();
  EXPECT_THROW(fake.measured(), InternalError);
  fake = exact_trial();
  fake.oracle.single_device_mean.pop_back();
  EXPECT_THROW(fake.measured(), InternalError);
  fake = exact_trial();
  fake.oracle.single_device[1].gradients.pop_back();
  EXPECT_THROW(fake.measured(), InternalError);
  fake = exact_trial();
  fake.oracle.single_device[0].activations[4].back().name = "logits";
  EXPECT_THROW(fake.measured(), InternalError);
}

}  // namespace
}  // namespace lockstep::test
