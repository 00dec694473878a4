// The table of checks names all that the contract has, and runs those that are built.
#include "simulator/checks/checks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "simulator/checks/tally.h"
#include "tests/simulator/checks/fake_trial.h"

namespace lockstep::test {
namespace {

using Names = std::vector<std::string>;

TEST(Checks, AreListedInTheContractsOrder) {
  Names names;
  Names built;
  for (const sim::Check& check : sim::checks()) {
    names.push_back(check.name);
    if (check.built) built.push_back(check.name);
    EXPECT_EQ(check.built, static_cast<bool>(check.run)) << check.name;
    EXPECT_EQ(check.summary.rfind("holds when ", 0), 0U) << check.summary;
  }
  EXPECT_EQ(names,
            (Names{"loss",
                   "activations",
                   "grads",
                   "replicas",
                   "norms",
                   "clip",
                   "update",
                   "params",
                   "collectives",
                   "races",
                   "exports",
                   "dumps",
                   "memory"}));
  EXPECT_EQ(built,
            (Names{"loss",
                   "activations",
                   "grads",
                   "replicas",
                   "norms",
                   "clip",
                   "update",
                   "params",
                   "collectives"}));
}

TEST(Checks, AreFoundByNameAndReportIt) {
  const FakeTrial fake = make_trial({2, 3}, adamw_recipe());
  for (const sim::Check& check : sim::checks()) {
    ASSERT_EQ(sim::find_check(check.name), &check);
    if (!check.built) continue;
    const sim::CheckResult result = check.run(fake.trial, fake.measured());
    EXPECT_EQ(result.check, check.name);
    EXPECT_EQ(result.verdict, sim::CheckVerdict::kPass) << check.name << ": " << result.reason;
  }
  EXPECT_EQ(sim::find_check("gradz"), nullptr);
}

TEST(Tally, KeepsTheSixteenWorstFailuresAndTellsThemByName) {
  sim::Tally tally("test");
  for (int i = 1; i <= 20; ++i) {
    tally.expect(1);
    ASSERT_TRUE(tally.counts(i, 0.0, 1));
    tally.add({.where = fmt::format("{:02}", i), .error = static_cast<double>(i)});
  }
  const sim::CheckResult result = std::move(tally).conclude();
  ASSERT_EQ(result.failures.size(), sim::kMaxPlaces);
  EXPECT_EQ(result.failures.front().where, "05");
  EXPECT_EQ(result.failures.back().where, "20");
  EXPECT_EQ(result.worst.where, "20");
}

TEST(Tally, KeepsAndTellsWhatIsNearerToTheCauseBeforeWhatIsWorse) {
  sim::Tally tally("test");
  for (int i = 1; i <= 20; ++i) {
    tally.expect(1);
    ASSERT_TRUE(tally.counts(i, 0.0, 1));
    tally.add({.where = fmt::format("{:02}", i), .error = static_cast<double>(i), .distance = i});
  }
  tally.expect(1);
  ASSERT_TRUE(tally.counts(0.5, 0.0, 1));
  tally.add({.where = "explained", .error = 0.5, .hint = "x2 = tp", .distance = 99});
  const sim::CheckResult result = std::move(tally).conclude();
  ASSERT_EQ(result.failures.size(), sim::kMaxPlaces);
  EXPECT_EQ(result.failures[0].where, "explained");
  EXPECT_EQ(result.failures[1].where, "01");
  EXPECT_EQ(result.failures.back().where, "15");
}

TEST(Tally, KeepsEveryNaN) {
  sim::Tally tally("test");
  for (const char* where : {"a", "b"}) {
    tally.expect(1);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (tally.counts(nan, 1.0, 1)) tally.add({.where = where, .error = nan, .bound = 1.0});
  }
  const sim::CheckResult result = std::move(tally).conclude();
  EXPECT_EQ(result.verdict, sim::CheckVerdict::kFail);
  EXPECT_EQ(result.failures.size(), 2U);
}

TEST(Tally, FailsWhereItComparedMoreThanExpected) {
  sim::Tally tally("test");
  tally.expect(1);
  tally.counts(0.0, 0.0, 2);
  const sim::CheckResult result = std::move(tally).conclude();
  EXPECT_EQ(result.verdict, sim::CheckVerdict::kFail);
  EXPECT_EQ(result.reason, "compared 2 of 1 expected");
}

TEST(Tally, FailsWhereThereWasNothingToCompare) {
  const sim::CheckResult result = sim::Tally("test").conclude();
  EXPECT_EQ(result.verdict, sim::CheckVerdict::kFail);
  EXPECT_EQ(result.reason, "there was nothing to compare");
}

TEST(Tally, RanksErrorsByHowManyTimesTheirBoundTheyAre) {
  sim::Tally tally("test");
  tally.expect(2);
  ASSERT_TRUE(tally.counts(0.5, 1.0, 1));
  tally.add({.where = "large and allowed", .error = 0.5, .bound = 1.0});
  ASSERT_TRUE(tally.counts(0.09, 0.1, 1));
  tally.add({.where = "small and nearly not", .error = 0.09, .bound = 0.1});
  EXPECT_FALSE(tally.counts(0.8, 1.0, 0));
  const sim::CheckResult result = std::move(tally).conclude();
  EXPECT_EQ(result.verdict, sim::CheckVerdict::kPass);
  EXPECT_EQ(result.worst.where, "small and nearly not");
}

TEST(Tally, RanksABitwiseFailureBeforeAnythingThatPasses) {
  EXPECT_GT(sim::excess(1e-300, 0.0), sim::excess(1.0, 1.0) - 1e-9);
  EXPECT_GT(sim::excess(1e-12, 0.0), 1.0);
  EXPECT_EQ(sim::excess(0.0, 0.0), 0.0);
}

}  // namespace
}  // namespace lockstep::test
