// From case to verdict: what runs, what is asked of it, and that nothing passes unseen.
#include "matrix/sweep/run_case.h"

#include <gtest/gtest.h>

#include "core/config/presets.h"

namespace lockstep::test {
namespace {

using matrix::CaseResult;
using matrix::CaseRunner;
using matrix::Verdict;
using sim::CheckVerdict;
using Names = std::vector<std::string>;

Case small_case(std::int64_t tp, std::int64_t dp) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = tp;
  c.layout.dp = dp;
  c.recipe.steps = 1;
  return c;
}

Case dense_case(std::int64_t tp, std::int64_t dp) {
  Case c = preset_case("tiny-dense");
  c.layout.tp = tp;
  c.layout.dp = dp;
  return c;
}

Names names_of(const CaseResult& result) {
  Names names;
  for (const sim::CheckResult& check : result.checks) names.push_back(check.check);
  return names;
}

TEST(RunCase, RunsEveryCheckThatIsBuiltUnlessAsked) {
  const CaseResult result = CaseRunner({}).run("name", dense_case(2, 3));
  EXPECT_EQ(result.verdict, Verdict::kPass) << result.reason;
  EXPECT_EQ(result.name, "name");
  EXPECT_EQ(names_of(result),
            (Names{"loss",
                   "activations",
                   "grads",
                   "replicas",
                   "norms",
                   "clip",
                   "update",
                   "params",
                   "collectives"}));
  for (const sim::CheckResult& check : result.checks) {
    EXPECT_EQ(check.verdict, CheckVerdict::kPass) << check.check;
    EXPECT_GT(check.compared, 0) << check.check;
  }
  EXPECT_EQ(result.digest.size(), 16U);
}

TEST(RunCase, RunsOnlyTheChecksAskedFor) {
  CaseRunner runner({.checks = {"params", "loss"}});
  EXPECT_EQ(names_of(runner.run("two", small_case(1, 2))), (Names{"params", "loss"}));
}

TEST(RunCase, IsNoPassWhereNoCheckApplies) {
  CaseRunner runner({.checks = {"replicas", "collectives"}});
  const CaseResult alone = runner.run("alone", small_case(1, 1));
  EXPECT_EQ(alone.verdict, Verdict::kSkipped);
  EXPECT_EQ(alone.reason, "none of the checks asked for applies to this case");
  EXPECT_EQ(runner.run("two", small_case(2, 1)).verdict, Verdict::kPass);
}

TEST(RunCase, IsAnErrorWhereACheckIsUnknownOrNotBuilt) {
  for (const std::string name : {"races", "gradz"}) {
    const CaseResult result = CaseRunner({.checks = {name}}).run("name", small_case(1, 1));
    EXPECT_EQ(result.verdict, Verdict::kError);
    EXPECT_EQ(result.reason, "check '" + name + "' is not built");
  }
}

TEST(RunCase, IsInvalidWithTheReasonAndRunsNothing) {
  const CaseResult result = CaseRunner({}).run("seven", small_case(1, 7));
  EXPECT_EQ(result.verdict, Verdict::kInvalid);
  EXPECT_FALSE(result.reason.empty());
  EXPECT_TRUE(result.checks.empty());
  EXPECT_EQ(result.digest, "");
}

TEST(RunCase, JudgesEachCaseByItsOwnReferenceWhateverRanBefore) {
  CaseRunner runner({});
  const Case base = small_case(1, 2);
  // More references than are kept, twice round.
  for (int round = 0; round < 2; ++round) {
    for (int seed = 1; seed <= 10; ++seed) {
      Case c = base;
      c.recipe.seed = seed;
      EXPECT_EQ(runner.run("seed", c).verdict, Verdict::kPass) << "seed " << seed;
    }
    for (const Mask mask : {Mask::kFull, Mask::kNone, Mask::kSingle}) {
      Case c = base;
      c.recipe.mask = mask;
      EXPECT_EQ(runner.run("mask", c).verdict, Verdict::kPass);
    }
    Case steeper = base;
    steeper.recipe.lr *= 1.0 + 1e-6;
    EXPECT_EQ(runner.run("lr", steeper).verdict, Verdict::kPass);
    Case longer = base;
    longer.recipe.steps = 2;
    EXPECT_EQ(runner.run("steps", longer).verdict, Verdict::kPass);
    Case smaller = base;
    smaller.recipe.global_batch = 6;
    EXPECT_EQ(runner.run("batch", smaller).verdict, Verdict::kPass);
    Case wider = base;
    wider.model.norm_eps *= 2.0;
    EXPECT_EQ(runner.run("eps", wider).verdict, Verdict::kPass);
  }
}

TEST(RunCase, HoldsLowerPrecisionsAgainstACleanRunOnASingleDevice) {
  for (const Precision precision : {Precision::kF32, Precision::kBF16}) {
    CaseRunner runner({});
    Case c = dense_case(2, 3);
    c.layout.sp = true;
    c.recipe.dtype = precision;
    const CaseResult clean = runner.run("clean", c);
    EXPECT_EQ(clean.verdict, Verdict::kPass) << clean.reason;
    for (const sim::CheckResult& check : clean.checks) {
      const bool applies = check.check != "params";
      EXPECT_EQ(check.verdict, applies ? CheckVerdict::kPass : CheckVerdict::kNotApplicable)
          << check.check << " " << check.worst.where << " " << check.worst.error;
    }
    // The run that it is held against has no defects, though its reference is the same.
    c.defects = {"B27-dp-reduction-missing"};
    EXPECT_EQ(runner.run("defect", c).verdict, Verdict::kFail);
  }
}

TEST(RunCase, PassesWhereARankHoldsNothingButPaddingOfTheVocabulary) {
  Case c = small_case(2, 2);
  c.model.vocab_divisor = 128;  // 90 tokens all lie on the first tp rank
  c.recipe.steps = 2;           // what went into padding would come out in the second
  EXPECT_EQ(CaseRunner({}).run("padding", c).verdict, Verdict::kPass);
}

TEST(RunCase, SaysOfAnUnfinishedTrialOnlyThatItsRankFailed) {
  Case c = small_case(2, 2);
  c.model.vocab_size = -5;  // makes token ids that the embedding refuses
  const CaseResult result = CaseRunner({}).run("broken", c);
  EXPECT_EQ(result.verdict, Verdict::kError);
  EXPECT_NE(result.reason.find("rank "), std::string::npos) << result.reason;
  ASSERT_EQ(result.checks.size(), 9U);
  for (const sim::CheckResult& check : result.checks) {
    if (check.check == "collectives") {
      EXPECT_EQ(check.verdict, CheckVerdict::kFail);
    } else {
      EXPECT_EQ(check.verdict, CheckVerdict::kNotApplicable) << check.check;
      EXPECT_EQ(check.reason, "the trial did not finish");
    }
  }
}

TEST(RunCase, ADefectFailsAndTheCleanCaseAfterItPasses) {
  CaseRunner runner({});
  Case c = small_case(2, 2);
  c.defects = {"B27-dp-reduction-missing"};
  EXPECT_EQ(runner.run("defect", c).verdict, Verdict::kFail);
  c.defects.clear();
  EXPECT_EQ(runner.run("clean", c).verdict, Verdict::kPass);
}

// No GPU is touched before the answer.
TEST(RunCase, SkipsASumOverMoreRanksThanAGpuTakes) {
  CaseRunner runner(
      {.ranks = matrix::simulated_ranks(sim::RankHost::kFibers, nullptr), .checks = {}});
  Case crowd = small_case(1, 1025);
  crowd.recipe.global_batch = 1025;
  const CaseResult result = runner.run("name", crowd);
  EXPECT_EQ(result.verdict, Verdict::kSkipped);
  EXPECT_EQ(result.device, "cuda");
  EXPECT_EQ(result.reason,
            "it sums over 1025 ranks; simulated ranks on a GPU sum over 1024 at most");
  EXPECT_EQ(matrix::simulated_ranks(sim::RankHost::kFibers, nullptr).why_not(small_case(1, 1024)),
            std::nullopt);
}

}  // namespace
}  // namespace lockstep::test
