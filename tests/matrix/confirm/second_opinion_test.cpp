// A case run on two kinds of ranks: what the second opinion adds to the result.
#include "matrix/confirm/second_opinion.h"

#include <gtest/gtest.h>

#include "core/config/presets.h"
#include "matrix/confirm/agreement.h"
#include "simulator/runtime/trial.h"

namespace lockstep::test {
namespace {

using matrix::CaseResult;
using matrix::CaseRunner;
using matrix::TrialRunner;
using matrix::Verdict;
using sim::TrialResult;

Case small_case() {
  Case c = preset_case("tiny-linear");
  c.layout.tp = 2;
  c.recipe.steps = 1;
  return c;
}

TrialRunner simulated() { return matrix::simulated_ranks(sim::RankHost::kFibers); }

// Another backend, which does the same but for what `plant` changes.
TrialRunner fake_ranks(const std::function<void(TrialResult&)>& plant) {
  return {.comm = "gloo",
          .why_not = [](const Case&) { return std::nullopt; },
          .run =
              [plant](const Case& c) {
                TrialResult trial = sim::run_trial(c, {});
                plant(trial);
                trial.digest = "of the other";
                return trial;
              }};
}

CaseResult run(const std::function<void(TrialResult&)>& plant, const Case& c) {
  CaseRunner runner({.ranks = fake_ranks(plant),
                     .checks = {"grads", "collectives"},
                     .second_opinion = matrix::held_against(simulated())});
  return runner.run("case", c);
}

TEST(SecondOpinion, IsALastCheckAndTheDigestOfTheSimulatedTrial) {
  const CaseResult result = run([](TrialResult&) {}, small_case());
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.reason;
  ASSERT_EQ(result.checks.size(), 3U);
  EXPECT_EQ(result.checks.back().check, "agreement");
  EXPECT_EQ(result.checks.back().verdict, sim::CheckVerdict::kPass);
  EXPECT_EQ(result.digest, "of the other");
  EXPECT_EQ(result.simulated_digest, sim::run_trial(small_case(), {}).digest);
}

TEST(SecondOpinion, FailsTheCaseWhereTrialsDifferByLessThanOtherChecksSee) {
  const CaseResult result =
      run([](TrialResult& trial) { trial.ranks[1].steps[0].gradients[0].values[0] *= 1.0 + 1e-9; },
          small_case());
  EXPECT_EQ(result.verdict, Verdict::kFail);
  EXPECT_EQ(result.checks.front().verdict, sim::CheckVerdict::kPass);
  EXPECT_EQ(result.checks.back().verdict, sim::CheckVerdict::kFail);
}

TEST(SecondOpinion, GoesByTheDeviceOnWhichTheOtherRanksComputed) {
  TrialRunner on_a_gpu = fake_ranks(
      [](TrialResult& trial) { trial.ranks[1].steps[0].gradients[0].values[0] *= 1.0 + 5e-11; });
  on_a_gpu.device = "cuda";
  CaseRunner runner({.ranks = on_a_gpu,
                     .checks = {"grads"},
                     .second_opinion = matrix::held_against(simulated())});
  const CaseResult result = runner.run("case", small_case());
  EXPECT_EQ(result.device, "cuda");
  EXPECT_EQ(result.verdict, Verdict::kPass);
  EXPECT_GT(result.checks.back().worst.error, matrix::agreement_bound("cpu"));
  EXPECT_EQ(result.checks.back().worst.bound, matrix::agreement_bound("cuda"));
}

TEST(SecondOpinion, IsThereForATrialThatDidNotFinish) {
  const CaseResult result = run(
      [](TrialResult& trial) {
        trial.cluster.findings = {{.kind = backends::FindingKind::kLost,
                                   .message = "rank 1 is lost",
                                   .ranks = {Rank{1}},
                                   .label = ""}};
      },
      small_case());
  EXPECT_EQ(result.verdict, Verdict::kError);
  EXPECT_EQ(result.reason, "rank 1 is lost");
  EXPECT_EQ(result.checks.back().check, "agreement");
  EXPECT_EQ(result.checks.back().reason, "only the simulated trial finished");
  EXPECT_FALSE(result.simulated_digest.empty());
}

TEST(SecondOpinion, IsMissingWhereTheOtherRanksCouldNotRun) {
  TrialRunner broken = fake_ranks([](TrialResult&) {});
  broken.run = [](const Case&) -> TrialResult { throw std::runtime_error("no process came"); };
  CaseRunner runner(
      {.ranks = broken, .checks = {}, .second_opinion = matrix::held_against(simulated())});
  const CaseResult result = runner.run("case", small_case());
  EXPECT_EQ(result.verdict, Verdict::kError);
  EXPECT_EQ(result.reason, "no process came");
  EXPECT_EQ(result.simulated_digest, "");
}

TEST(SecondOpinion, TravelsWithTheResultLine) {
  const CaseResult result = run([](TrialResult&) {}, small_case());
  const CaseResult back = matrix::result_from_json(matrix::result_to_json(result));
  EXPECT_EQ(back.simulated_digest, result.simulated_digest);
  EXPECT_EQ(back.checks.back().compared, result.checks.back().compared);
  CaseResult plain = result;
  plain.simulated_digest.clear();
  EXPECT_EQ(matrix::result_to_json(plain).find("simulated_digest"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::test
