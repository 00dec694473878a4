// Agreement of two trials: what is equal, what is near, and every planted difference.
#include "matrix/confirm/agreement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/config/presets.h"

namespace lockstep::test {
namespace {

using backends::FindingKind;
using sim::CheckResult;
using sim::CheckVerdict;
using sim::TrialResult;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Case two_ranks(Precision dtype = Precision::kF64) {
  Case c = preset_case("tiny-dense");
  c.layout.dp = 2;
  c.recipe.global_batch = 2;
  c.recipe.dtype = dtype;
  return c;
}

CheckResult agreement(const TrialResult& simulated, const TrialResult& other) {
  return matrix::agreement(simulated, other, matrix::agreement_bound("cpu"));
}

// One run for all tests, none of which changes it.
const TrialResult& clean_trial() {
  static const TrialResult trial = sim::run_trial(two_ranks(), {});
  return trial;
}

StepResult& step_of(TrialResult& trial, std::size_t rank, std::size_t step) {
  return trial.ranks[rank].steps[step];
}

double norm_of(const Shard& shard) {
  double sum = 0.0;
  for (const double value : shard.values) sum += value * value;
  return std::sqrt(sum);
}

// The clean trial with one element of rank 1's third gradient off by so many norms of the tensor.
TrialResult with_gradient_off_by(double share, std::size_t step = 0) {
  TrialResult trial = clean_trial();
  Shard& gradient = step_of(trial, 1, step).gradients[2];
  gradient.values[5] += share * norm_of(gradient);
  return trial;
}

TrialResult ended_by(FindingKind kind) {
  TrialResult trial = clean_trial();
  trial.cluster.findings.push_back({.kind = kind, .message = "", .ranks = {}, .label = ""});
  return trial;
}

TEST(Agreement, OfATrialWithItselfIsExactAndCountsEveryNumber) {
  const CheckResult result = agreement(clean_trial(), clean_trial());
  EXPECT_EQ(result.check, "agreement");
  EXPECT_EQ(result.verdict, CheckVerdict::kPass) << result.reason;
  EXPECT_EQ(result.worst.error, 0.0);
  EXPECT_EQ(result.compared, result.expected);
  const StepResult& step = clean_trial().ranks[0].steps[0];
  const std::size_t num_tensors = 5 * step.gradients.size();  // with clipped ones and both moments
  const std::size_t num_activations = step.losses[0].activations.size();
  ASSERT_GT(num_activations, 0U);
  const std::size_t num_step =
      num_tensors + num_activations + 1 + 4 + 1;  // and a loss, four scalars, a count
  const std::size_t num_probes = clean_trial().ranks[0].probes.size();
  EXPECT_EQ(static_cast<std::size_t>(result.compared), 2 * (2 * num_step + num_probes));
}

TEST(Agreement, FailsWhereOneElementOfAGradientIsOffByAHundredBillionth) {
  const CheckResult result = agreement(clean_trial(), with_gradient_off_by(1e-11));
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.worst.where, "gradient " + clean_trial().ranks[1].steps[0].gradients[2].name);
  EXPECT_EQ(result.worst.ranks, std::vector<Rank>{Rank{1}});
  EXPECT_EQ(result.worst.bound, 1e-12);
  EXPECT_GE(result.worst.error, 1e-11);
}

TEST(Agreement, HoldsWhereAnElementIsOffByRoundingAndTellsByHowMuch) {
  const CheckResult result = agreement(clean_trial(), with_gradient_off_by(1e-14));
  EXPECT_EQ(result.verdict, CheckVerdict::kPass);
  EXPECT_GT(result.worst.error, 1e-15);
  EXPECT_EQ(result.worst.where, "gradient " + clean_trial().ranks[1].steps[0].gradients[2].name);
}

TEST(Agreement, AllowsAnotherDevicesKernelsWhatTheReferenceIsAllowed) {
  const double of_cuda = matrix::agreement_bound("cuda");
  EXPECT_EQ(of_cuda, 1e-10);
  EXPECT_EQ(matrix::agreement_bound("cpu"), 1e-12);
  const CheckResult held = matrix::agreement(clean_trial(), with_gradient_off_by(1e-12), of_cuda);
  EXPECT_EQ(held.verdict, CheckVerdict::kPass) << held.worst.error;
  EXPECT_GT(held.worst.error, matrix::agreement_bound("cpu"));
  EXPECT_EQ(held.worst.bound, of_cuda);
  EXPECT_EQ(matrix::agreement(clean_trial(), with_gradient_off_by(1e-9), of_cuda).verdict,
            CheckVerdict::kFail);
}

TEST(Agreement, NamesTheStep) {
  const CheckResult result = agreement(clean_trial(), with_gradient_off_by(1e-11, 1));
  EXPECT_EQ(result.worst.where,
            "gradient " + clean_trial().ranks[1].steps[1].gradients[2].name + " (step 1)");
}

TEST(Agreement, SeesADifferenceInEveryKindOfTensor) {
  for (std::vector<Shard> StepResult::*tensors : {&StepResult::gradients,
                                                  &StepResult::clipped_gradients,
                                                  &StepResult::parameters,
                                                  &StepResult::exp_avg,
                                                  &StepResult::exp_avg_sq}) {
    TrialResult other = clean_trial();
    Shard& shard = (step_of(other, 0, 0).*tensors)[0];
    shard.values[0] += norm_of(shard);
    EXPECT_EQ(agreement(clean_trial(), other).verdict, CheckVerdict::kFail);
  }
  TrialResult other = clean_trial();
  Shard& shard = step_of(other, 0, 0).losses[0].activations[1];
  shard.values[0] += norm_of(shard);
  const CheckResult result = agreement(clean_trial(), other);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.worst.where, "activation " + shard.name + ", micro-batch 0");
}

TEST(Agreement, SeesADifferenceInEveryLossAndNorm) {
  for (double StepResult::*value : {&StepResult::loss,
                                    &StepResult::reported_loss,
                                    &StepResult::gradient_norm,
                                    &StepResult::parameter_norm}) {
    TrialResult other = clean_trial();
    ASSERT_NE(step_of(other, 1, 1).*value, 0.0);
    step_of(other, 1, 1).*value *= 1.0 + 1e-11;
    EXPECT_EQ(agreement(clean_trial(), other).verdict, CheckVerdict::kFail);
  }
  TrialResult other = clean_trial();
  step_of(other, 1, 0).losses[0].loss_sum *= 1.0 + 1e-11;
  const CheckResult result = agreement(clean_trial(), other);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.worst.where, "loss, micro-batch 1");
}

TEST(Agreement, SeesADifferenceInAProbe) {
  TrialResult other = clean_trial();
  ASSERT_FALSE(other.ranks[0].probes.empty());
  other.ranks[0].probes[0].value += 1.0;
  EXPECT_EQ(agreement(clean_trial(), other).verdict, CheckVerdict::kFail);
}

TEST(Agreement, FailsWhereARankIsMissing) {
  TrialResult other = clean_trial();
  other.ranks.pop_back();
  const CheckResult result = agreement(clean_trial(), other);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason, "2 ranks simulated, 1 on the other backend");
  EXPECT_LT(result.compared, result.expected);
}

TEST(Agreement, FailsWhereAStepIsMissing) {
  TrialResult other = clean_trial();
  other.ranks[1].steps.pop_back();
  const CheckResult result = agreement(clean_trial(), other);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason, "rank 1, steps: 2 simulated, 1 on the other backend");
}

TEST(Agreement, FailsWhereATensorIsMissingOrOneTooMany) {
  TrialResult other = clean_trial();
  step_of(other, 0, 0).parameters.pop_back();
  EXPECT_EQ(agreement(clean_trial(), other).verdict, CheckVerdict::kFail);
  EXPECT_EQ(agreement(other, clean_trial()).verdict, CheckVerdict::kFail);
}

TEST(Agreement, FailsWhereAShardHasAnotherShape) {
  TrialResult other = clean_trial();
  Shard& gradient = step_of(other, 0, 0).gradients[0];
  gradient.local_shape = {gradient.local_shape[0] * gradient.local_shape[1], 1};
  const CheckResult result = agreement(clean_trial(), other);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_NE(result.reason.find("rank 0, gradient: " + gradient.name), std::string::npos)
      << result.reason;
}

TEST(Agreement, FailsWhereAShardIsAnotherPartOfItsTensorOrOfALargerOne) {
  TrialResult other = clean_trial();
  step_of(other, 0, 0).gradients[0].slices.at(0).dim += 1;
  EXPECT_EQ(agreement(clean_trial(), other).verdict, CheckVerdict::kFail);
  other = clean_trial();
  step_of(other, 0, 0).gradients[0].full_shape[0] *= 2;
  EXPECT_EQ(agreement(clean_trial(), other).verdict, CheckVerdict::kFail);
}

TEST(Agreement, FailsWhereAMicroBatchIsAnotherOne) {
  TrialResult other = clean_trial();
  step_of(other, 1, 0).losses[0].targets += 1;
  const CheckResult result = agreement(clean_trial(), other);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_NE(result.reason.find("rank 1, loss, micro-batch 1"), std::string::npos) << result.reason;
}

TEST(Agreement, FailsWhereAnotherNumberOfTargetsIsReported) {
  TrialResult other = clean_trial();
  step_of(other, 1, 0).reported_targets += 1;
  const CheckResult result = agreement(clean_trial(), other);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason.rfind("rank 1, reported targets: ", 0), 0U) << result.reason;
}

TEST(Agreement, FailsWhereOnlyOneSideIsNoNumber) {
  TrialResult other = clean_trial();
  step_of(other, 0, 1).gradients[1].values[3] = kNaN;
  for (const CheckResult& result :
       {agreement(clean_trial(), other), agreement(other, clean_trial())}) {
    EXPECT_EQ(result.verdict, CheckVerdict::kFail);
    EXPECT_FALSE(std::isfinite(result.worst.error));
  }
}

TEST(Agreement, HoldsWhereBothSidesAreTheSameNoNumberAndStillSeesTheOthers) {
  TrialResult simulated = clean_trial();
  Shard& gradient = step_of(simulated, 0, 0).gradients[1];
  const double norm = norm_of(gradient);
  gradient.values[3] = kNaN;
  gradient.values[4] = kInfinity;
  TrialResult other = simulated;
  EXPECT_EQ(agreement(simulated, other).verdict, CheckVerdict::kPass);
  step_of(other, 0, 0).gradients[1].values[0] += 1e-9 * norm;
  EXPECT_EQ(agreement(simulated, other).verdict, CheckVerdict::kFail);
  other = simulated;
  step_of(other, 0, 0).gradients[1].values[4] = -kInfinity;
  EXPECT_EQ(agreement(simulated, other).verdict, CheckVerdict::kFail);
}

TEST(Agreement, SeesADifferenceBesideAnInfinityOfBothSides) {
  TrialResult simulated = clean_trial();
  Shard& gradient = step_of(simulated, 0, 0).gradients[1];
  const double norm = norm_of(gradient);
  gradient.values[4] = kInfinity;
  TrialResult other = simulated;
  step_of(other, 0, 0).gradients[1].values[0] += 1e-9 * norm;
  EXPECT_EQ(agreement(simulated, other).verdict, CheckVerdict::kFail);
}

TEST(Agreement, BelowF64TellsTheLargestDifferenceOfAllStepsWithoutJudgement) {
  const TrialResult simulated = sim::run_trial(two_ranks(Precision::kF32), {});
  TrialResult other = simulated;
  step_of(other, 0, 0).loss *= 1.0 + 1e-6;
  step_of(other, 0, 1).loss *= 1.0 + 1e-3;
  const CheckResult result = agreement(simulated, other);
  EXPECT_EQ(result.verdict, CheckVerdict::kNotApplicable);
  EXPECT_NE(result.reason.find("below f64"), std::string::npos);
  EXPECT_EQ(result.worst.where, "global loss (step 1)");
  EXPECT_NEAR(result.worst.error, 1e-3, 1e-6);
  EXPECT_EQ(result.worst.bound, kInfinity);
  EXPECT_TRUE(result.failures.empty());
}

TEST(Agreement, BelowF64HoldsWhereAllBitsAreEqual) {
  const TrialResult simulated = sim::run_trial(two_ranks(Precision::kF32), {});
  EXPECT_EQ(agreement(simulated, simulated).verdict, CheckVerdict::kPass);
}

TEST(Agreement, BelowF64StillFailsWhereSomethingIsMissingOrNoNumber) {
  const TrialResult simulated = sim::run_trial(two_ranks(Precision::kF32), {});
  TrialResult other = simulated;
  step_of(other, 0, 0).loss = kNaN;
  EXPECT_EQ(agreement(simulated, other).verdict, CheckVerdict::kFail);
  other = simulated;
  other.ranks[1].steps.clear();
  EXPECT_EQ(agreement(simulated, other).verdict, CheckVerdict::kFail);
}

TEST(Agreement, IsNotApplicableWhereOneTrialDidNotFinish) {
  const CheckResult other = agreement(clean_trial(), ended_by(FindingKind::kLost));
  EXPECT_EQ(other.verdict, CheckVerdict::kNotApplicable);
  EXPECT_EQ(other.reason, "only the simulated trial finished");
  const CheckResult simulated = agreement(ended_by(FindingKind::kLost), clean_trial());
  EXPECT_EQ(simulated.verdict, CheckVerdict::kNotApplicable);
  EXPECT_EQ(simulated.reason, "the simulated trial did not finish");
}

TEST(Agreement, OfTrialsThatDidNotFinishIsThatOfTheirEnds) {
  const TrialResult deadlock = ended_by(FindingKind::kDeadlock);
  EXPECT_EQ(agreement(deadlock, deadlock).verdict, CheckVerdict::kNotApplicable);
  const CheckResult result = agreement(deadlock, ended_by(FindingKind::kStalled));
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason,
            "the simulated trial ended in a deadlock, the other one in a stalled rank");
}

TEST(Agreement, IgnoresPendingCallsOfATrialThatFinished) {
  EXPECT_EQ(agreement(clean_trial(), ended_by(FindingKind::kPending)).verdict, CheckVerdict::kPass);
}

// The order of sums is what backends differ in: the bound leaves room for it, and not for more.
TEST(Agreement, HoldsBetweenOrdersOfSums) {
  for (const ReductionOrder order : {ReductionOrder::kRing, ReductionOrder::kTree}) {
    Case c = preset_case("tiny-dense");
    c.layout.tp = 4;
    c.layout.dp = 2;
    c.recipe.global_batch = 2;
    const TrialResult simulated = sim::run_trial(c, {});
    c.recipe.reduction_order = order;
    const CheckResult result = agreement(simulated, sim::run_trial(c, {}));
    EXPECT_EQ(result.verdict, CheckVerdict::kPass)
        << result.worst.where << " " << result.worst.error;
    EXPECT_GT(result.worst.error, 0.0);
    RecordProperty("worst", std::to_string(result.worst.error * 1e15) + "e-15");
  }
}

}  // namespace
}  // namespace lockstep::test
