// Steps of context ranks: both step APIs, one device's numbers, and evaluation without gradients.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "core/config/presets.h"
#include "tests/core/train/train_ranks.h"
#include "tests/support/op_fixture.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep {
namespace {

using test::digest_of;
using test::train_ranks;

Case two_by_two_by_two() {
  Case c = preset_case("tiny-context");
  c.layout.tp = c.layout.cp = 2;
  c.layout.dp = 2;
  c.recipe.reduction_order = ReductionOrder::kRank;
  return c;
}

Case one_rank(Case c) {
  c.layout.tp = c.layout.cp = c.layout.dp = 1;
  c.layout.sp = false;
  return c;
}

// Losses of context ranks are terms, by global micro-batch.
std::map<std::int64_t, MicroBatchLoss> losses_of(const Case& c,
                                                 const std::vector<RankResult>& ranks,
                                                 std::size_t step) {
  std::map<std::int64_t, MicroBatchLoss> losses;
  for (std::size_t r = 0; r < ranks.size(); r += static_cast<std::size_t>(c.layout.tp)) {
    for (const MicroBatchLoss& loss : ranks[r].steps.at(step).losses) {
      MicroBatchLoss& sum = losses[loss.global_micro_batch];
      sum.loss_sum += loss.loss_sum;
      sum.targets += loss.targets;
    }
  }
  return losses;
}

void expect_one_ranks_steps(const Case& c) {
  const Case alone_case = one_rank(c);
  const std::vector<RankResult> alone = train_ranks(alone_case);
  const std::vector<RankResult> ranks = train_ranks(c);
  for (std::size_t step = 0; step < 2; ++step) {
    const auto expected = losses_of(alone_case, alone, step);
    const auto actual = losses_of(c, ranks, step);
    ASSERT_EQ(expected.size(), 6U);
    ASSERT_EQ(actual.size(), 6U);
    for (const auto& [g, loss] : expected) {
      EXPECT_NEAR(actual.at(g).loss_sum, loss.loss_sum, 1e-10 * loss.loss_sum) << "step " << step;
      EXPECT_EQ(actual.at(g).targets, loss.targets);
    }
    const StepResult& right = alone[0].steps[step];
    for (const RankResult& rank : ranks) {
      const StepResult& its = rank.steps[step];
      EXPECT_NEAR(its.loss, right.loss, 1e-10);
      EXPECT_NEAR(its.reported_loss, right.reported_loss, 1e-10);
      EXPECT_EQ(its.reported_targets, right.reported_targets);
      EXPECT_NEAR(its.gradient_norm, right.gradient_norm, 1e-10);
      EXPECT_NEAR(its.parameter_norm, right.parameter_norm, 1e-10);
    }
  }
}

TEST(ContextStep, GivesTheNumbersOfOneRankWhateverTheLossFunction) {
  Case c = two_by_two_by_two();
  c.recipe.loss_norm = LossNorm::kToken;
  expect_one_ranks_steps(c);
  c.recipe.loss_norm = LossNorm::kMicroBatch;
  for (const std::int64_t values : {2, 3}) {
    c.recipe.loss_values = values;
    expect_one_ranks_steps(c);
  }
}

TEST(ContextStep, GivesTheNumbersOfOneRankOfPackedDocumentsWithDropout) {
  Case c = two_by_two_by_two();
  c.layout.sp = true;
  c.recipe.packing = true;
  c.recipe.dropout = 0.125;
  expect_one_ranks_steps(c);
}

TEST(ContextStep, ALocalCountIsAMeanOfMeans) {
  Case c = two_by_two_by_two();
  c.recipe.loss_norm = LossNorm::kMicroBatch;
  const double right = train_ranks(one_rank(c)).at(0).steps[0].loss;
  double wrong = 0.0;
  const auto report = test::on_each_rank(c, [&](const RankContext& context, const Plans& plans) {
    Plans local = plans;
    local.loss = plan_loss(c, std::nullopt);
    Trainer trainer(context, c, local);
    wrong = trainer.run_step(0).loss;
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
  EXPECT_GT(std::abs(wrong - right), 1e-4 * right);
}

TEST(ContextStep, SplitCallsAreTheFusedStepBitForBit) {
  for (const LossNorm norm : {LossNorm::kToken, LossNorm::kMicroBatch}) {
    Case c = two_by_two_by_two();
    c.recipe.loss_norm = norm;
    const std::string fused = digest_of(train_ranks(c));
    c.recipe.step_api = StepApi::kSplit;
    EXPECT_EQ(digest_of(train_ranks(c)), fused);
    c.recipe.overlap = {"grad"};
    c.recipe.bucket_elements = 1000;
    EXPECT_EQ(digest_of(train_ranks(c)), fused);
  }
}

TEST(ContextStep, BeginsRunsAndFinishesTwiceInARow) {
  const Case c = two_by_two_by_two();
  const std::vector<RankResult> expected = train_ranks(c);
  const auto report = test::on_each_rank(c, [&](const RankContext& context, const Plans& plans) {
    Trainer trainer(context, c, plans);
    for (std::int64_t step = 0; step < 2; ++step) {
      trainer.begin_step(step);
      for (int m = 0; m < 3; ++m) trainer.run_micro_batch();
      const StepResult result = trainer.finish_step();
      const StepResult& right = expected[static_cast<std::size_t>(context.rank.value)]
                                    .steps[static_cast<std::size_t>(step)];
      EXPECT_EQ(result.losses.size(), 3U);
      EXPECT_EQ(result.loss, right.loss);
      EXPECT_EQ(result.reported_loss, right.reported_loss);
      EXPECT_EQ(result.gradient_norm, right.gradient_norm);
    }
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
}

std::string failure(const std::function<void(Trainer&)>& drive) {
  const Case c = two_by_two_by_two();
  return test::to_text(test::on_each_rank(c, [&](const RankContext& context, const Plans& plans) {
    Trainer trainer(context, c, plans);
    drive(trainer);
  }));
}

TEST(ContextStep, WrongOrdersStillSaySo) {
  const std::string twice = failure([](Trainer& trainer) {
    trainer.run_step(0);
    trainer.finish_step();
  });
  EXPECT_NE(twice.find("a step is finished, but none has begun since the last finish"),
            std::string::npos)
      << twice;
  const std::string early = failure([](Trainer& trainer) {
    trainer.begin_step(0);
    trainer.run_micro_batch();
    trainer.finish_step();
  });
  EXPECT_NE(early.find("step 0 is finished after 1 of its 3 micro-batches"), std::string::npos)
      << early;
  const std::string late = failure([](Trainer& trainer) {
    trainer.begin_step(0);
    for (int m = 0; m < 4; ++m) trainer.run_micro_batch();
  });
  EXPECT_NE(late.find("step 0 has all of its 3 micro-batches"), std::string::npos) << late;
}

// Training's first step runs on the same parameters.
TEST(ForwardOnly, LosesWhatTrainingsFirstStepLosesAndNeverLearns) {
  for (const LossNorm norm : {LossNorm::kToken, LossNorm::kMicroBatch}) {
    Case c = two_by_two_by_two();
    c.recipe.loss_norm = norm;
    const std::vector<RankResult> trained = train_ranks(c);
    c.recipe.forward_only = true;
    const std::vector<RankResult> evaluated = train_ranks(c);
    for (std::size_t r = 0; r < trained.size(); ++r) {
      const StepResult& right = trained[r].steps[0];
      const StepResult& its = evaluated[r].steps[0];
      ASSERT_EQ(its.losses.size(), 3U);
      for (std::size_t m = 0; m < 3; ++m) {
        EXPECT_EQ(its.losses[m].loss_sum, right.losses[m].loss_sum);
        EXPECT_EQ(its.losses[m].targets, right.losses[m].targets);
      }
      EXPECT_EQ(its.loss, right.loss);
      EXPECT_EQ(its.reported_loss, right.reported_loss);
      EXPECT_EQ(its.reported_targets, right.reported_targets);
      EXPECT_NE(trained[r].steps[1].loss, evaluated[r].steps[1].loss) << "nothing was learned";
    }
  }
}

TEST(ForwardOnly, ReportsNoGradientsParametersOrProbesAndEndsEachStep) {
  Case c = two_by_two_by_two();
  c.recipe.forward_only = true;
  for (const RankResult& rank : train_ranks(c)) {
    ASSERT_EQ(rank.steps.size(), 2U);
    for (const StepResult& step : rank.steps) {
      EXPECT_TRUE(step.gradients.empty());
      EXPECT_TRUE(step.clipped_gradients.empty());
      EXPECT_TRUE(step.parameters.empty());
      EXPECT_TRUE(step.exp_avg.empty());
      EXPECT_EQ(step.gradient_norm, 0.0);
    }
    EXPECT_TRUE(rank.probes.empty());
  }
}

TEST(ForwardOnly, HoldsNoMemoryForGradients) {
  Case c = two_by_two_by_two();
  c.recipe.forward_only = true;
  const auto report = test::on_each_rank(c, [&](const RankContext& context, const Plans& plans) {
    EXPECT_TRUE(plans.buckets.buckets.empty());
    const GradientBuckets gradients(context.ops, plans.buckets, plans.table);
    EXPECT_TRUE(gradients.buckets().empty());
    for (const Tensor& gradient : gradients.main_gradients()) EXPECT_FALSE(gradient);
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
}

}  // namespace
}  // namespace lockstep
