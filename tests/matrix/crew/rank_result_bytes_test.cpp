// Results of ranks that travel between processes.
#include "matrix/crew/rank_result_bytes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/errors.h"
#include "core/config/case_json.h"
#include "simulator/runtime/trial.h"

namespace lockstep::matrix {
namespace {

sim::TrialResult small_trial() {
  const Case c =
      case_from_json(R"({"preset":"tiny-linear","tp":2,"optimizer":"adamw","clip":0.1})");
  return sim::run_trial(c, {});
}

TEST(RankResultBytes, ComeBackWithEveryTensorNormAndProbe) {
  const sim::TrialResult trial = small_trial();
  const RankResult& sent = trial.ranks.at(1);
  ASSERT_FALSE(sent.steps.empty());
  ASSERT_FALSE(sent.probes.empty());
  const RankResult received = rank_result_from_bytes(to_bytes(sent));
  ASSERT_EQ(received.steps.size(), sent.steps.size());
  for (std::size_t i = 0; i < sent.steps.size(); ++i) {
    const StepResult& a = sent.steps[i];
    const StepResult& b = received.steps[i];
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(a.gradient_norm, b.gradient_norm);
    EXPECT_EQ(a.parameter_norm, b.parameter_norm);
    EXPECT_EQ(a.gradient_zeros, b.gradient_zeros);
    ASSERT_EQ(a.losses.size(), b.losses.size());
    EXPECT_EQ(a.losses.back().targets, b.losses.back().targets);
    EXPECT_EQ(a.losses.back().loss_sum, b.losses.back().loss_sum);
    ASSERT_FALSE(a.losses.back().activations.empty());
    EXPECT_EQ(a.losses.back().activations.back().values, b.losses.back().activations.back().values);
  }
  EXPECT_EQ(received.probes.size(), sent.probes.size());
  EXPECT_EQ(received.probes.back().label, sent.probes.back().label);
  EXPECT_EQ(received.probes.back().value, sent.probes.back().value);
}

TEST(RankResultBytes, KeepTheCutOfEachShardAndAllSixGroupsOfTensors) {
  const sim::TrialResult trial = small_trial();
  const StepResult& a = trial.ranks.at(1).steps.front();
  const StepResult b = rank_result_from_bytes(to_bytes(trial.ranks.at(1))).steps.front();
  const auto expect_equal = [](const std::vector<Shard>& x, const std::vector<Shard>& y) {
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(x[i].name, y[i].name);
      EXPECT_EQ(x[i].full_shape, y[i].full_shape);
      EXPECT_EQ(x[i].local_shape, y[i].local_shape);
      EXPECT_EQ(x[i].slices, y[i].slices);
      EXPECT_EQ(x[i].values, y[i].values);
    }
  };
  ASSERT_FALSE(a.clipped_gradients.empty());
  ASSERT_FALSE(a.exp_avg.empty());
  expect_equal(a.gradients, b.gradients);
  expect_equal(a.clipped_gradients, b.clipped_gradients);
  expect_equal(a.parameters, b.parameters);
  expect_equal(a.masters, b.masters);
  expect_equal(a.exp_avg, b.exp_avg);
  expect_equal(a.exp_avg_sq, b.exp_avg_sq);
}

TEST(RankResultBytes, KeepEachOfSeveralCutsOfAShard) {
  const std::vector<ShardSlice> slices = {
      {.dim = 0,
       .runs = {{.local = 0, .global = 6, .count = 2}, {.local = 3, .global = 0, .count = 1}}},
      {.dim = 1, .runs = {}}};
  RankResult sent;
  sent.steps.emplace_back();
  sent.steps[0].losses.push_back(
      {.activations = {{.name = "a", .full_shape = {8, 2}, .local_shape = {4, 0}}}});
  sent.steps[0].losses[0].activations[0].slices = slices;
  const RankResult received = rank_result_from_bytes(to_bytes(sent));
  EXPECT_EQ(received.steps.at(0).losses.at(0).activations.at(0).slices, slices);
}

TEST(RankResultBytes, TellEveryScalarOfAStepApart) {
  RankResult sent;
  StepResult& step = sent.steps.emplace_back();
  step.loss = 1.0;
  step.reported_loss = 2.0;
  step.reported_targets = 3;
  step.gradient_norm = 4.0;
  step.gradient_zeros = 5;
  step.parameter_norm = 6.0;
  const StepResult received = rank_result_from_bytes(to_bytes(sent)).steps.at(0);
  EXPECT_EQ(received.loss, 1.0);
  EXPECT_EQ(received.reported_loss, 2.0);
  EXPECT_EQ(received.reported_targets, 3);
  EXPECT_EQ(received.gradient_norm, 4.0);
  EXPECT_EQ(received.gradient_zeros, 5);
  EXPECT_EQ(received.parameter_norm, 6.0);
}

TEST(RankResultBytes, KeepNaNAndInfinity) {
  RankResult sent;
  sent.steps.emplace_back();
  sent.steps.back().loss = std::numeric_limits<double>::quiet_NaN();
  sent.steps.back().gradient_norm = std::numeric_limits<double>::infinity();
  const RankResult received = rank_result_from_bytes(to_bytes(sent));
  EXPECT_TRUE(std::isnan(received.steps.at(0).loss));
  EXPECT_TRUE(std::isinf(received.steps.at(0).gradient_norm));
}

TEST(RankResultBytes, RefuseWhatIsCutShortOrForeign) {
  const std::string bytes = to_bytes(small_trial().ranks.front());
  EXPECT_THROW(rank_result_from_bytes(bytes.substr(0, bytes.size() / 2)), UsageError);
  EXPECT_THROW(rank_result_from_bytes("GET / HTTP/1.0\r\n\r\n"), UsageError);
  EXPECT_THROW(rank_result_from_bytes(""), UsageError);
}

}  // namespace
}  // namespace lockstep::matrix
