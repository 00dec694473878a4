// The norms check: norms against the reference and among ranks, and probes exactly.
#include "simulator/checks/norms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/simulator/checks/fake_trial.h"

namespace lockstep::test {
namespace {

using sim::check_norms;
using sim::CheckResult;
using sim::CheckVerdict;

// 90 x 8, 8, 48 x 8 and 8 x 48 elements.
constexpr std::int64_t kElements = 720 + 8 + 384 + 384;

CheckResult run(const FakeTrial& fake) { return check_norms(fake.trial, fake.measured()); }

ProbeResult& probe(FakeTrial& fake, std::size_t rank, std::size_t index) {
  return fake.trial.ranks.at(rank).probes.at(index);
}

TEST(NormsCheck, PassesAndCountsByTheLayout) {
  for (const FakeLayout layout : {FakeLayout{1, 1}, {2, 1}, {1, 3}, {2, 3}, {8, 2}}) {
    const CheckResult result = run(make_trial(layout));
    EXPECT_EQ(result.verdict, CheckVerdict::kPass) << result.reason;
    const std::int64_t world = layout.tp * layout.dp;
    EXPECT_EQ(result.expected, 2 * 2 * (2 * world - 1) + 4 * 2 * world);
    EXPECT_EQ(result.compared, result.expected);
  }
}

TEST(NormsCheck, FindsAWrongGradientNorm) {
  FakeTrial fake = make_trial({2, 3});
  fake.on_all_ranks(1, [](StepResult& step) { step.gradient_norm *= 1.0 + 1e-9; });
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, "gradient norm (step 1)");
  EXPECT_NEAR(result.failures[0].error, 1e-9, 1e-14);
  EXPECT_EQ(result.failures[0].ranks.size(), 6U);
}

TEST(NormsCheck, FindsAParameterNormThatAGroupSizeExplains) {
  FakeTrial fake = make_trial({2, 3});
  fake.on_all_ranks(0, [](StepResult& step) { step.parameter_norm *= 2.0; });
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, "parameter norm");
  EXPECT_EQ(result.failures[0].hint, "x2 = tp");
}

TEST(NormsCheck, FindsRanksThatDisagreeByOneBit) {
  FakeTrial fake = make_trial({2, 1});
  fake.step(1, 0).gradient_norm = std::nextafter(fake.step(1, 0).gradient_norm, 100.0);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, "gradient norm across ranks");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{0, 1}));
}

TEST(NormsCheck, FailsOnNaN) {
  FakeTrial fake = make_trial({1, 1});
  fake.step(0, 0).parameter_norm = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(run(fake).failures.at(0).hint, "not finite");
}

TEST(NormsCheck, HoldsANormOfNothingToExactlyZero) {
  FakeTrial fake = make_trial({1, 1});
  fake.oracle.steps[0].gradient_norm = 0.0;
  fake.step(0, 0).gradient_norm = 0.0;
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kPass);
  fake.step(0, 0).gradient_norm = 1e-200;
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kFail);
}

TEST(NormsCheck, FindsAProbeCountedTwiceOverTp) {
  FakeTrial fake = make_trial({2, 3});
  for (std::size_t rank = 0; rank < 6; ++rank) {
    probe(fake, rank, 0).norm = std::sqrt(2.0 * static_cast<double>(kElements));
  }
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  ASSERT_EQ(result.failures.size(), 6U);
  EXPECT_EQ(result.failures[0].where.rfind("probe.ones: norm ", 0), 0U) << result.failures[0].where;
  EXPECT_EQ(result.failures[0].hint, "norm^2 x2 = tp");
}

TEST(NormsCheck, FindsAReplicatedParameterThatEveryTpRankCounts) {
  FakeTrial fake = make_trial({2, 1});
  for (std::size_t rank = 0; rank < 2; ++rank) {
    probe(fake, rank, 2).norm = std::sqrt(2.0);
    probe(fake, rank, 0).norm = std::sqrt(static_cast<double>(kElements + 8));
  }
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 4U);
  EXPECT_EQ(result.failures[0].where.rfind("probe.single." + std::string(kNorm), 0), 0U)
      << "the probe that a size explains comes first: " << result.failures[0].where;
  EXPECT_EQ(result.failures[0].hint, "norm^2 x2 = tp");
}

TEST(NormsCheck, FindsASingleOneThatNoRankCounts) {
  FakeTrial fake = make_trial({2, 1});
  for (std::size_t rank = 0; rank < 2; ++rank) probe(fake, rank, 1).norm = 0.0;
  EXPECT_EQ(run(fake).failures.size(), 2U);
}

TEST(NormsCheck, FindsOneZeroTooMany) {
  FakeTrial fake = make_trial({1, 3});
  ++probe(fake, 2, 3).zeros;
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, "probe.zeros: 5 zeros, expected 4");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{2}));
}

TEST(NormsCheck, FindsPaddingThatIsCounted) {
  FakeTrial fake = make_trial({2, 1});
  for (std::size_t rank = 0; rank < 2; ++rank) {
    probe(fake, rank, 0).norm = std::sqrt(static_cast<double>(kElements + 6 * 8));
  }
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kFail);
}

TEST(NormsCheck, FailsOnAProbeThatIsNotFinite) {
  FakeTrial fake = make_trial({1, 1});
  probe(fake, 0, 0).norm = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kFail);
}

TEST(NormsCheck, FailsWithoutTheProbesThatMustBePlanted) {
  const char* const reasons[] = {"no rank reports probe.ones",
                                 "no rank reports a single one in a parameter that is cut",
                                 "no rank reports a single one in a parameter that is not cut",
                                 "no rank reports probe.zeros"};
  for (std::ptrdiff_t i = 0; i < 4; ++i) {
    FakeTrial fake = make_trial({2, 1});
    for (RankResult& rank : fake.trial.ranks) rank.probes.erase(rank.probes.begin() + i);
    const CheckResult result = run(fake);
    EXPECT_EQ(result.verdict, CheckVerdict::kFail);
    EXPECT_EQ(result.reason, reasons[i]);
  }
}

TEST(NormsCheck, AsksForNoSingleOneInACutParameterWhereNoneIsCut) {
  FakeTrial fake = make_trial({1, 3});
  for (RankResult& rank : fake.trial.ranks) rank.probes.erase(rank.probes.begin() + 1);
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kPass) << run(fake).reason;
}

TEST(NormsCheck, FailsWhereARankReportsOtherProbes) {
  FakeTrial fake = make_trial({2, 1});
  std::swap(fake.trial.ranks[1].probes[0], fake.trial.ranks[1].probes[3]);
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason, "rank 1 reports other probes than rank 0");
  EXPECT_EQ(result.compared, result.expected - 2 * 2);
}

TEST(NormsCheck, FailsOnAProbeOfAnUnknownParameter) {
  FakeTrial fake = make_trial({1, 1});
  fake.trial.ranks[0].probes.push_back({.label = "probe.single.surprise", .norm = 1.0, .zeros = 0});
  EXPECT_EQ(run(fake).reason, "probe.single.surprise plants nothing that this model has");
}

TEST(NormsCheck, BelowF64AlsoHoldsNormsAgainstThisRunsOwnTensors) {
  FakeTrial fake = make_trial({2, 3}, adamw_recipe(Precision::kBF16));
  const CheckResult clean = run(fake);
  EXPECT_EQ(clean.verdict, CheckVerdict::kPass) << clean.reason << clean.worst.where;
  EXPECT_EQ(clean.expected, 2 * (3 * 6 + 2 * 5) + 4 * 2 * 6);
  // Less than rounding explains: only the run's own gradients tell.
  fake.on_all_ranks(0, [](StepResult& step) { step.gradient_norm *= 1.0 + 1e-9; });
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, "gradient norm of this run's own tensors");
}

TEST(NormsCheck, FindsAParameterNormOfRoundedParametersWhereMastersAreMeant) {
  FakeTrial fake = make_trial({1, 1}, adamw_recipe(Precision::kBF16));
  double squares = 0.0;
  for (const Shard& shard : fake.step(0, 0).parameters) {
    for (std::size_t i = 0; i < shard.values.size(); ++i) {
      if (std::isfinite(shard.values[i])) squares += shard.values[i] * shard.values[i];
    }
  }
  fake.step(0, 0).parameter_norm = std::sqrt(squares);
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kFail);
}

}  // namespace
}  // namespace lockstep::test
