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

// Of 4 parameters, all but the norm being cut.
constexpr std::int64_t kNumProbes = 3 * 4 + 5;
const std::string kNormsOwn = "probe.grad_norm." + std::string(kNorm);

void set_probe(FakeTrial& fake, const std::string& label, double value) {
  for (RankResult& rank : fake.trial.ranks) test::probe(rank, label).value = value;
}

void erase_probe(FakeTrial& fake, const std::string& label) {
  for (RankResult& rank : fake.trial.ranks) {
    std::erase_if(rank.probes, [&](const ProbeResult& probe) { return probe.label == label; });
  }
}

TEST(NormsCheck, PassesAndCountsByTheLayout) {
  for (const FakeLayout layout : {FakeLayout{1, 1}, {2, 1}, {1, 3}, {2, 3}, {8, 2}}) {
    const CheckResult result = run(make_trial(layout));
    EXPECT_EQ(result.verdict, CheckVerdict::kPass) << result.reason;
    const std::int64_t world = layout.tp * layout.dp;
    EXPECT_EQ(result.expected, 2 * 2 * (2 * world - 1) + kNumProbes * world);
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

TEST(NormsCheck, NamesTheParameterThatAPlanCountsTwiceOverTp) {
  FakeTrial fake = make_trial({2, 3});
  set_probe(fake, kNormsOwn, std::sqrt(2.0 * 8.0));
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, std::string(kNorm) + " in grad_norm");
  EXPECT_EQ(result.failures[0].hint, "x2 = tp");
  EXPECT_EQ(result.failures[0].ranks.size(), 6U);
}

TEST(NormsCheck, TellsTheParameterThatASizeExplainsBeforeTheWhole) {
  FakeTrial fake = make_trial({2, 1});
  set_probe(fake, "probe.param_norm." + std::string(kNorm), 4.0);
  set_probe(fake, "probe.param_norm.ones", std::sqrt(static_cast<double>(kElements + 8)));
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 2U);
  EXPECT_EQ(result.failures[0].where, std::string(kNorm) + " in param_norm");
  EXPECT_EQ(result.failures[1].where, "ones in param_norm");
  EXPECT_EQ(result.failures[1].hint,
            std::to_string(kElements + 8) + " of " + std::to_string(kElements) + " elements");
}

TEST(NormsCheck, RealNormsFollowFromAPlanThatMiscountsPlantedValuesAndAreNotTold) {
  FakeTrial fake = make_trial({2, 3});
  set_probe(fake, kNormsOwn, 4.0);
  fake.on_all_ranks(0, [](StepResult& step) { step.gradient_norm *= 2.0; });
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.compared, result.expected);
}

TEST(NormsCheck, FindsASingleOneThatNoRankCounts) {
  FakeTrial fake = make_trial({2, 1});
  set_probe(fake, "probe.grad_norm.single." + std::string(kFc1), 0.0);
  EXPECT_EQ(run(fake).failures.at(0).where, "single." + std::string(kFc1) + " in grad_norm");
}

TEST(NormsCheck, FindsOneZeroTooManyOnOneRank) {
  FakeTrial fake = make_trial({1, 3});
  ++test::probe(fake.trial.ranks[2], "probe.grad_zeros.planted").value;
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, "planted in grad_zeros");
  EXPECT_EQ(result.failures[0].hint, "5 of 4 elements");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{2}));
}

TEST(NormsCheck, FindsPaddingThatIsCounted) {
  FakeTrial fake = make_trial({2, 1});
  set_probe(fake, "probe.grad_zeros." + std::string(kFc1), 1e6);
  EXPECT_EQ(run(fake).failures.at(0).where, std::string(kFc1) + " in grad_zeros");
}

TEST(NormsCheck, FailsOnAProbeThatIsNotFinite) {
  FakeTrial fake = make_trial({1, 1});
  set_probe(fake, kNormsOwn, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(run(fake).failures.at(0).hint, "not finite");
}

TEST(NormsCheck, FailsWithoutAnyOfTheProbesThatMustBePlanted) {
  const FakeTrial whole = make_trial({2, 1});
  for (const ProbeResult& probe : whole.trial.ranks[0].probes) {
    FakeTrial fake = whole;
    erase_probe(fake, probe.label);
    const CheckResult result = run(fake);
    EXPECT_EQ(result.verdict, CheckVerdict::kFail) << probe.label;
    const bool is_single = probe.label.find(".single.") != std::string::npos;
    EXPECT_EQ(result.reason.rfind(is_single ? "no rank reports a single one in a parameter that is "
                                            : "no rank reports " + probe.label,
                                  0),
              0U)
        << result.reason;
  }
}

TEST(NormsCheck, AsksForNoSingleOneInACutParameterWhereNoneIsCut) {
  FakeTrial fake = make_trial({1, 3});
  erase_probe(fake, "probe.grad_norm.single." + std::string(kFc1));
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kPass) << run(fake).reason;
}

TEST(NormsCheck, FailsWhereARankReportsOtherProbes) {
  FakeTrial fake = make_trial({2, 1});
  std::swap(fake.trial.ranks[1].probes[0], fake.trial.ranks[1].probes[3]);
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason, "rank 1 reports other probes than rank 0");
  EXPECT_EQ(result.compared, result.expected - 2);
}

TEST(NormsCheck, FailsOnAProbeOfAnUnknownParameter) {
  FakeTrial fake = make_trial({1, 1});
  fake.trial.ranks[0].probes.push_back({.label = "probe.grad_norm.surprise", .value = 1.0});
  EXPECT_EQ(run(fake).reason, "probe.grad_norm.surprise plants nothing that this model has");
}

TEST(NormsCheck, BelowF64AlsoHoldsNormsAgainstThisRunsOwnTensors) {
  FakeTrial fake = make_trial({2, 3}, adamw_recipe(Precision::kBF16));
  const CheckResult clean = run(fake);
  EXPECT_EQ(clean.verdict, CheckVerdict::kPass) << clean.reason << clean.worst.where;
  EXPECT_EQ(clean.expected, 2 * (3 * 6 + 2 * 5) + kNumProbes * 6);
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
