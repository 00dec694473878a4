// A trial is a pure function of its case: no host, seed or order of scheduling shows in its bits.
#include "simulator/runtime/trial.h"

#include <gtest/gtest.h>

#include <exception>

#include "core/base/digest.h"
#include "core/base/errors.h"
#include "core/config/presets.h"

namespace lockstep::sim {
namespace {

Case small_case(std::int64_t tp, std::int64_t dp) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = tp;
  c.layout.dp = dp;
  return c;
}

std::string digest_of(const Case& c, RankHost host = RankHost::kFibers) {
  const TrialResult trial = run_trial(c, {.host = host});
  EXPECT_TRUE(trial.cluster.findings.empty());
  return trial.digest;
}

TEST(Trial, GivesTheSameBitsAgain) {
  EXPECT_EQ(digest_of(small_case(4, 2)), digest_of(small_case(4, 2)));
}

TEST(Trial, GivesTheSameBitsOnFibersAndThreads) {
  for (const std::int64_t tp : {1, 2, 4}) {
    for (const std::int64_t dp : {1, 3}) {
      const Case c = small_case(tp, dp);
      EXPECT_EQ(digest_of(c), digest_of(c, RankHost::kThreads)) << "tp " << tp << " dp " << dp;
    }
  }
}

TEST(Trial, TheSchedulersSeedDoesNotShow) {
  Case c = small_case(4, 3);
  const std::string digest = digest_of(c);
  for (c.recipe.schedule_seed = 1; c.recipe.schedule_seed <= 20; ++c.recipe.schedule_seed) {
    EXPECT_EQ(digest_of(c), digest);
  }
}

TEST(Trial, CompletionAtSubmitOrAtTheWaitDoesNotShow) {
  Case c = small_case(2, 3);
  const std::string digest = digest_of(c);
  for (const Completion completion : {Completion::kEarly, Completion::kLate, Completion::kSeeded}) {
    c.recipe.completion = completion;
    EXPECT_EQ(digest_of(c), digest);
  }
}

TEST(Trial, TheOrderOfReductionShowsInBitsOnlyWhereRoundingCan) {
  Case c = small_case(1, 3);
  const std::string by_rank = digest_of(c);
  c.recipe.reduction_order = ReductionOrder::kRing;
  EXPECT_NE(digest_of(c), by_rank) << "three terms round differently in another order";
  c = small_case(2, 1);
  const std::string two_by_rank = digest_of(c);
  for (const ReductionOrder order : {ReductionOrder::kRing, ReductionOrder::kTree}) {
    c.recipe.reduction_order = order;
    EXPECT_EQ(digest_of(c), two_by_rank) << "a sum of two has one order";
  }
}

TEST(Trial, TheDigestIsOfEveryRanksGradientsAndParametersAfterEachStep) {
  const TrialResult trial = run_trial(small_case(2, 3), {});
  Digest digest;
  for (const RankResult& rank : trial.ranks) {
    digest.add(static_cast<std::uint64_t>(2));  // steps
    for (const StepResult& step : rank.steps) {
      for (const Shard& shard : step.gradients) digest.add(shard.values);
      for (const Shard& shard : step.parameters) digest.add(shard.values);
    }
  }
  EXPECT_EQ(trial.ranks.size(), 6U);
  EXPECT_EQ(trial.digest, digest.hex());
}

TEST(Trial, TheDigestTellsGradientsApartWhereParametersAreEqual) {
  Case c = small_case(1, 2);
  c.recipe.lr = 0.0;
  c.recipe.loss_norm = LossNorm::kToken;
  const std::string by_token = digest_of(c);
  c.recipe.loss_norm = LossNorm::kMicroBatch;
  EXPECT_NE(digest_of(c), by_token);
}

TEST(Trial, TheDigestTellsParametersApartWhereGradientsAreEqual) {
  Case c = small_case(1, 2);
  c.recipe.steps = 1;
  const std::string slow = digest_of(c);
  c.recipe.lr *= 2.0;
  EXPECT_NE(digest_of(c), slow);
}

TEST(Trial, ADifferentSeedIsADifferentTrial) {
  Case c = small_case(2, 1);
  const std::string digest = digest_of(c);
  c.recipe.seed += 1;
  EXPECT_NE(digest_of(c), digest);
}

TEST(Trial, WhatCannotBePlannedNeverStartsAndTheNextTrialRuns) {
  Case c = small_case(2, 2);
  c.defects = {"no-such-defect"};
  EXPECT_THROW(run_trial(c, {}), UsageError);
  digest_of(small_case(2, 2));
}

}  // namespace
}  // namespace lockstep::sim
