// Every built check fails on the violation that is planted for it, and is the only one that does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "simulator/checks/checks.h"
#include "tests/simulator/checks/fake_trial.h"

namespace lockstep::test {
namespace {

using sim::CheckResult;
using sim::CheckVerdict;

using Names = std::vector<std::string>;

// With clipping: raw gradients are then read by no check but those that judge them.
FakeRecipe precise() { return adamw_recipe(); }
FakeRecipe rounded() { return adamw_recipe(Precision::kBF16); }
// Clipped gradients are not seen in parameters either.
FakeRecipe motionless() { return {.lr = 0.0, .clip = 0.1}; }

void add_an_ulp(double& value) { value = std::nextafter(value, 2.0 * value); }

void change_on_all_ranks(FakeTrial& fake,
                         std::vector<Shard> StepResult::*tensors,
                         double factor = 2.0) {
  fake.on_all_ranks(1, [&](StepResult& step) {
    for (double& value : named(step.*tensors, kFc1).values) value *= factor;
  });
}

void change_on_last_rank(FakeTrial& fake, std::vector<Shard> StepResult::*tensors) {
  add_an_ulp(named(fake.step(3, 1).*tensors, kFc1).values[0]);
}

void add_finding(FakeTrial& fake, backends::FindingKind kind, std::vector<Rank> ranks) {
  fake.trial.cluster.num_matched -= 2;
  fake.trial.cluster.findings.push_back(
      {.kind = kind, .message = "planted", .ranks = std::move(ranks), .label = "finalize.dp_sum"});
}

// One thing that a check judges, and a trial of two tensor- by two data-parallel ranks in which
// nothing but that is wrong.
struct Plant {
  std::string check;
  std::string judged;
  FakeRecipe recipe;
  void (*plant)(FakeTrial&);
};

std::vector<Plant> plants_in_values() {
  return {
      {"loss",
       "loss of a micro-batch",
       precise(),
       [](FakeTrial& fake) {
         for (int rank : {2, 3}) fake.step(rank, 1).losses[0].loss_sum *= 2.0;
       }},
      {"loss",
       "global loss",
       precise(),
       [](FakeTrial& fake) { fake.on_all_ranks(1, [](StepResult& step) { step.loss *= 2.0; }); }},
      {"loss",
       "losses across ranks",
       precise(),
       [](FakeTrial& fake) { add_an_ulp(fake.step(3, 1).loss); }},
      {"loss",
       "number of targets",
       precise(),
       [](FakeTrial& fake) { ++fake.step(3, 1).losses[0].targets; }},
      {"loss",
       "reported loss",
       precise(),
       [](FakeTrial& fake) {
         fake.on_all_ranks(1, [](StepResult& step) { step.reported_loss *= 2.0; });
       }},
      {"loss",
       "reported number of targets",
       precise(),
       [](FakeTrial& fake) { ++fake.step(3, 1).reported_targets; }},
      {"activations",
       "an activation",
       precise(),
       [](FakeTrial& fake) { scale(fake.activation(3, 1, 0, kActivated).values, 2.0); }},
      {"grads",
       "a gradient",
       precise(),
       [](FakeTrial& fake) { change_on_all_ranks(fake, &StepResult::gradients); }},
      {"clip",
       "a clipped gradient",
       motionless(),
       [](FakeTrial& fake) { change_on_all_ranks(fake, &StepResult::clipped_gradients); }},
      // Alone it fails where the run is true to its own gradients, all of them are right, and yet
      // the run is elsewhere than the reference: so the reference is moved.
      {"params",
       "a parameter",
       precise(),
       [](FakeTrial& fake) {
         for (sim::OracleTensor& tensor : fake.oracle.steps[1].parameters) {
           if (tensor.name == kFc1) scale(tensor.values, 1.0 + 1e-9);
         }
       }},
  };
}

std::vector<Plant> plants_in_replicas_and_state() {
  return {
      {"replicas",
       "gradients",
       precise(),
       [](FakeTrial& fake) { change_on_last_rank(fake, &StepResult::gradients); }},
      {"replicas",
       "clipped gradients",
       motionless(),
       [](FakeTrial& fake) { change_on_last_rank(fake, &StepResult::clipped_gradients); }},
      {"replicas",
       "parameters",
       precise(),
       [](FakeTrial& fake) { change_on_last_rank(fake, &StepResult::parameters); }},
      {"replicas",
       "optimizer state",
       precise(),
       [](FakeTrial& fake) { change_on_last_rank(fake, &StepResult::exp_avg); }},
      // A few ulps: nothing to the other checks, which hold parameters to 1e-10.
      {"update",
       "masters",
       precise(),
       [](FakeTrial& fake) {
         change_on_all_ranks(fake, &StepResult::parameters, 1.0 + std::ldexp(1.0, -48));
       }},
      {"update",
       "first moments",
       precise(),
       [](FakeTrial& fake) { change_on_all_ranks(fake, &StepResult::exp_avg); }},
      {"update",
       "second moments",
       precise(),
       [](FakeTrial& fake) { change_on_all_ranks(fake, &StepResult::exp_avg_sq); }},
      {"update",
       "rounded parameters",
       rounded(),
       [](FakeTrial& fake) { change_on_all_ranks(fake, &StepResult::parameters); }},
  };
}

std::vector<Plant> plants_in_norms_and_calls() {
  return {
      {"norms",
       "gradient norm",
       precise(),
       [](FakeTrial& fake) {
         fake.on_all_ranks(1, [](StepResult& step) { step.gradient_norm *= 2.0; });
       }},
      {"norms",
       "parameter norm",
       precise(),
       [](FakeTrial& fake) {
         fake.on_all_ranks(1, [](StepResult& step) { step.parameter_norm *= 2.0; });
       }},
      {"norms",
       "norms across ranks",
       precise(),
       [](FakeTrial& fake) { add_an_ulp(fake.step(3, 1).gradient_norm); }},
      {"norms",
       "norm of this run's own tensors",
       rounded(),
       [](FakeTrial& fake) {
         fake.on_all_ranks(1, [](StepResult& step) { step.gradient_norm *= 1.0 + 1e-9; });
       }},
      {"norms",
       "norm of a probe",
       precise(),
       [](FakeTrial& fake) {
         for (RankResult& rank : fake.trial.ranks) rank.probes[0].value *= 2.0;
       }},
      {"norms",
       "zeros of a probe",
       precise(),
       [](FakeTrial& fake) {
         for (RankResult& rank : fake.trial.ranks)
           ++test::probe(rank, "probe.grad_zeros.planted").value;
       }},
      {"collectives",
       "calls that do not match",
       precise(),
       [](FakeTrial& fake) { add_finding(fake, backends::FindingKind::kMismatch, {Rank{3}}); }},
      {"collectives",
       "calls left pending",
       precise(),
       [](FakeTrial& fake) { add_finding(fake, backends::FindingKind::kPending, {Rank{3}}); }},
      {"collectives",
       "calls without a match",
       precise(),
       [](FakeTrial& fake) { --fake.trial.cluster.num_matched; }},
  };
}

std::vector<Plant> all_plants() {
  std::vector<Plant> all = plants_in_values();
  for (const std::vector<Plant>& more :
       {plants_in_replicas_and_state(), plants_in_norms_and_calls()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

Names failing_checks(const FakeTrial& fake) {
  const sim::MeasuredOracle measured = fake.measured();
  Names failing;
  for (const sim::Check& check : sim::checks()) {
    if (!check.built) continue;
    if (check.run(fake.trial, measured).verdict == CheckVerdict::kFail) {
      failing.push_back(check.name);
    }
  }
  return failing;
}

TEST(ReportsFailure, EveryBuiltCheckHasAPlantedViolation) {
  std::set<std::string> planted;
  for (const Plant& plant : all_plants()) {
    const sim::Check* const check = sim::find_check(plant.check);
    ASSERT_NE(check, nullptr) << plant.check;
    EXPECT_TRUE(check->built) << plant.check;
    planted.insert(plant.check);
  }
  for (const sim::Check& check : sim::checks()) {
    EXPECT_EQ(planted.contains(check.name), check.built) << check.name;
  }
}

TEST(ReportsFailure, ThePlantedCheckAndNoOtherFails) {
  for (const Plant& plant : all_plants()) {
    for (const std::int64_t cp : {1, 2}) {
      FakeTrial fake = make_trial({.tp = 2, .dp = 2, .cp = cp}, plant.recipe);
      plant.plant(fake);
      EXPECT_EQ(failing_checks(fake), Names{plant.check}) << plant.check << ": " << plant.judged;
    }
  }
}

TEST(ReportsFailure, EveryCheckJudgesTheSameTrialWithoutAViolationAndPassesIt) {
  for (const Plant& plant : all_plants()) {
    const FakeTrial fake = make_trial({2, 2}, plant.recipe);
    EXPECT_EQ(failing_checks(fake), Names{}) << plant.check << ": " << plant.judged;
    const CheckResult own = sim::find_check(plant.check)->run(fake.trial, fake.measured());
    EXPECT_EQ(own.verdict, CheckVerdict::kPass) << plant.check << ": " << plant.judged;
  }
}

// A violation on one rank, the same in kind and another in size on each, so that no two of those
// that have it agree.
struct RankPlant {
  std::string check;
  void (*plant)(FakeTrial&, int rank);
};

double factor_of(int rank) { return 2.0 + rank; }

std::vector<RankPlant> rank_plants() {
  return {
      {"loss", [](FakeTrial& fake, int rank) { fake.step(rank, 0).losses[0].targets += 1 + rank; }},
      {"activations",
       [](FakeTrial& fake, int rank) {
         scale(fake.activation(rank, 0, 0, kActivated).values, factor_of(rank));
       }},
      {"grads",
       [](FakeTrial& fake, int rank) {
         scale(fake.gradient(rank, 0, kFc1).values, factor_of(rank));
       }},
      {"replicas",
       [](FakeTrial& fake, int rank) {
         scale(fake.gradient(rank, 0, kFc1).values, factor_of(rank));
       }},
      {"norms",
       [](FakeTrial& fake, int rank) {
         fake.trial.ranks[static_cast<std::size_t>(rank)].probes[0].value += 1 + rank;
       }},
      {"clip",
       [](FakeTrial& fake, int rank) {
         scale(named(fake.step(rank, 0).clipped_gradients, kFc1).values, factor_of(rank));
       }},
      {"update",
       [](FakeTrial& fake, int rank) {
         scale(fake.parameter(rank, 1, kFc1).values, factor_of(rank));
       }},
      {"params",
       [](FakeTrial& fake, int rank) {
         scale(fake.parameter(rank, 1, kFc1).values, factor_of(rank));
       }},
      {"collectives",
       [](FakeTrial& fake, int rank) {
         add_finding(fake, backends::FindingKind::kMismatch, {Rank{rank}});
       }},
  };
}

std::set<int> ranks_told(const CheckResult& result) {
  std::set<int> ranks;
  for (const sim::Place& place : result.failures) {
    for (const Rank rank : place.ranks) ranks.insert(rank.value);
  }
  return ranks;
}

void expect_exactly_told(FakeLayout layout, const std::set<int>& group) {
  for (const RankPlant& plant : rank_plants()) {
    FakeTrial fake = make_trial(layout, precise());
    for (const int rank : group) plant.plant(fake, rank);
    const CheckResult result = sim::find_check(plant.check)->run(fake.trial, fake.measured());
    EXPECT_EQ(result.verdict, CheckVerdict::kFail) << plant.check;
    EXPECT_EQ(ranks_told(result), group) << plant.check;
  }
}

TEST(ReportsFailure, EveryBuiltCheckIsTriedOnGroupsThatAreNotTheFirst) {
  std::set<std::string> planted;
  for (const RankPlant& plant : rank_plants()) planted.insert(plant.check);
  for (const sim::Check& check : sim::checks()) {
    EXPECT_EQ(planted.contains(check.name), check.built) << check.name;
  }
}

TEST(ReportsFailure, NamesExactlyTheRanksOfTheSecondDpGroup) {
  expect_exactly_told({.tp = 2, .dp = 2}, {1, 3});
  expect_exactly_told({.tp = 2, .dp = 3}, {1, 3, 5});
}

// With three: the two replicas of a part that two dp ranks hold could each be the wrong one.
TEST(ReportsFailure, NamesExactlyTheRanksOfTpGroupsAfterTheFirst) {
  expect_exactly_told({.tp = 2, .dp = 3}, {2, 3});
  expect_exactly_told({.tp = 2, .dp = 3}, {4, 5});
  expect_exactly_told({.tp = 4, .dp = 3}, {4, 5, 6, 7});
}

TEST(ReportsFailure, NamesTheSecondOfTwoTpGroupsWhereMoreThanReplicasTell) {
  for (const RankPlant& plant : rank_plants()) {
    if (plant.check == "replicas") continue;
    FakeTrial fake = make_trial({.tp = 2, .dp = 2}, precise());
    for (const int rank : {2, 3}) plant.plant(fake, rank);
    const CheckResult result = sim::find_check(plant.check)->run(fake.trial, fake.measured());
    EXPECT_EQ(ranks_told(result), (std::set<int>{2, 3})) << plant.check;
  }
}

}  // namespace
}  // namespace lockstep::test
