// What a micro-batch's loss is divided by, whose targets count, and what stays as it was returned.
#include "core/train/loss.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <optional>

#include "core/config/presets.h"
#include "core/ops/elementwise.h"
#include "core/ops/host.h"
#include "tests/core/autograd/recording_sink.h"
#include "tests/support/rank_fixture.h"

namespace lockstep {
namespace {

using test::layout_of;
using test::spawn_contexts;
using test::values_of;

Case case_of(LossNorm norm, std::int64_t cp = 1, std::int64_t dp = 1) {
  Case c = preset_case("tiny-linear");  // 12 micro-batches
  c.recipe.loss_norm = norm;
  c.layout.cp = cp;
  c.layout.dp = dp;
  return c;
}

std::string text_of(LossNorm norm, std::int64_t cp, std::int64_t dp, std::int64_t values = 3) {
  Case c = case_of(norm, cp, dp);
  c.recipe.loss_values = values;
  return to_text(plan_loss(c));
}

TEST(LossPlan, ATokenMeanLeavesTheDivisionToFinalisation) {
  const std::string text = "loss: 3 values, factor 1 / 1, reported from the sum\n";
  EXPECT_EQ(text_of(LossNorm::kToken, 1, 1), text);
  EXPECT_EQ(text_of(LossNorm::kToken, 2, 3), text) << "nor is its count summed over cp";
}

TEST(LossPlan, AMicroBatchMeanDividesByItsTargetsAndTheNumberOfMicroBatches) {
  EXPECT_EQ(text_of(LossNorm::kMicroBatch, 1, 3),
            "loss: 3 values, factor 0.25 / targets of the micro-batch, reported from the sum\n");
  EXPECT_EQ(text_of(LossNorm::kMicroBatch, 1, 3, 2),
            "loss: 2 values, factor 0.25 / targets of the micro-batch, reported from the sum\n");
}

TEST(LossPlan, UnderContextParallelismTheCountIsTheGroupsAndTheFactorUndoesTheMeanOverIt) {
  EXPECT_EQ(text_of(LossNorm::kMicroBatch, 2, 3),
            "loss: 3 values, factor 0.5 / targets of the micro-batch summed over cp, reported from "
            "the sum\n");
  EXPECT_EQ(text_of(LossNorm::kMicroBatch, 2, 3, 2),
            "loss: 2 values, factor 0.5 / targets of the micro-batch summed over cp, reported from "
            "the sum\n");
}

TEST(LossPlan, ACallerMaySayWhoseTargetsAreSummed) {
  Case c = case_of(LossNorm::kMicroBatch, 2, 3);
  EXPECT_EQ(to_text(plan_loss(c, GroupKind::kDpCp)),
            "loss: 3 values, factor 0.5 / targets of the micro-batch summed over dp_cp, reported "
            "from the sum\n");
  EXPECT_EQ(to_text(plan_loss(c, std::nullopt)),
            "loss: 3 values, factor 0.25 / targets of the micro-batch, reported from the sum\n")
      << "1 / 4 micro-batches: without a group cp is a mean of means";
}

// 2 tensor, 2 context and 2 data ranks; each has a loss sum and targets of its own, alike over tp.
struct OwnPart {
  double loss_sum = 0.0;
  std::int64_t targets = 0;
};

OwnPart part_of_rank(const RankContext& context) {
  const int part = context.rank.value / 2;  // cp + 2 dp
  const OwnPart parts[] = {{10.0, 3}, {6.0, 5}, {20.0, 7}, {9.0, 2}};
  return parts[part];
}

// Of the rank's own cp group.
OwnPart part_of_pair(const RankContext& context) {
  return context.group_rank(GroupKind::kDp).value == 0 ? OwnPart{16.0, 8} : OwnPart{29.0, 9};
}

// The loss function's result, and what a backward pass from it gives its input.
struct LossRun {
  const LossOutput& output;
  double scale = 0.0;
  double input_gradient = 0.0;
};

void on_each_part(const Case& c,
                  const LossPlan& plan,
                  const std::function<void(const RankContext&, const LossRun&)>& look) {
  const Layout layout = layout_of(
      {.tp = 2, .cp = static_cast<int>(c.layout.cp), .dp = static_cast<int>(c.layout.dp)});
  const auto report = spawn_contexts(layout, [&](const RankContext& context) {
    const OwnPart own = part_of_rank(context);
    Tape tape(context.ops);
    const Variable sum = tape.input(
        reals_from_host(context.ops, DType::kF64, std::array{own.loss_sum}, {1}, "test.sum"));
    const LossOutput output = masked_loss(context, tape, plan, sum, own.targets);
    const double scale = loss_scale(context, plan, output);
    test::RecordingSink sink(context.ops);
    double gradient = scale;
    if (output.loss.id != sum.id) {
      const Tensor seed =
          reals_from_host(context.ops, DType::kF64, std::array{scale}, {1}, "test.seed");
      gradient = values_of(tape.backward({&output.loss, 1}, {&seed, 1}, {&sum, 1}, sink)[0])[0];
    }
    look(context, {.output = output, .scale = scale, .input_gradient = gradient});
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
}

Case two_by_two(std::int64_t values = 3) {
  Case c = case_of(LossNorm::kMicroBatch, 2, 2);  // 6 micro-batches
  c.recipe.loss_values = values;
  return c;
}

TEST(MaskedLoss, CountsDoNotLeakFromOneContextGroupToAnother) {
  const Case c = two_by_two();
  on_each_part(c, plan_loss(c), [](const RankContext& context, const LossRun& run) {
    const double pair = static_cast<double>(part_of_pair(context).targets);
    EXPECT_DOUBLE_EQ(run.scale, 2.0 / 6.0 / pair) << "cp / micro-batches / the pair's targets";
  });
}

TEST(MaskedLoss, AGroupTooLargeOrOfAnotherAxisShowsInTheScale) {
  const Case c = two_by_two();
  on_each_part(c, plan_loss(c, GroupKind::kDpCp), [](const RankContext&, const LossRun& run) {
    EXPECT_DOUBLE_EQ(run.scale, 2.0 / 6.0 / 17.0);
  });
  on_each_part(c, plan_loss(c, GroupKind::kDp), [](const RankContext& context, const LossRun& run) {
    const bool is_first = context.group_rank(GroupKind::kCp).value == 0;
    EXPECT_DOUBLE_EQ(run.scale, 2.0 / 6.0 / (is_first ? 10.0 : 7.0));
  });
}

TEST(MaskedLoss, TheReturnedCountStaysThisRanksOwn) {
  const Case c = two_by_two();
  on_each_part(c, plan_loss(c), [](const RankContext& context, const LossRun& run) {
    EXPECT_EQ(values_of(run.output.count)[0], static_cast<double>(part_of_rank(context).targets));
    EXPECT_EQ(values_of(run.output.loss.value)[0], part_of_rank(context).loss_sum);
  });
}

TEST(MaskedLoss, AReportThatSharesMemoryReadsTheSameAfterwards) {
  for (const std::int64_t values : {2, 3}) {
    const Case c = two_by_two(values);
    on_each_part(c, plan_loss(c), [&](const RankContext& context, const LossRun& run) {
      const LossReport& report = run.output.report;
      EXPECT_EQ(values_of(report.loss_sum)[0], part_of_rank(context).loss_sum);
      EXPECT_EQ(values_of(report.count)[0], static_cast<double>(part_of_rank(context).targets));
      if (values == 2) return;
      EXPECT_EQ(report.count.buffer().bytes(), run.output.count.buffer().bytes());
      EXPECT_EQ(report.loss_sum.buffer().bytes(), run.output.loss.value.buffer().bytes());
    });
  }
}

TEST(MaskedLoss, ASumInPlaceChangesTheCountAndTheReportButNotTheScale) {
  const Case c = two_by_two();
  LossPlan plan = plan_loss(c);
  plan.count_reduction = CountReduction::kInPlace;
  on_each_part(c, plan, [](const RankContext& context, const LossRun& run) {
    const double pair = static_cast<double>(part_of_pair(context).targets);
    EXPECT_EQ(values_of(run.output.count)[0], pair);
    EXPECT_EQ(values_of(run.output.report.count)[0], pair);
    EXPECT_DOUBLE_EQ(run.scale, 2.0 / 6.0 / pair);
  });
}

TEST(MaskedLoss, WithoutAGroupEachRankDividesByItsOwnCount) {
  const Case c = two_by_two();
  on_each_part(c, plan_loss(c, std::nullopt), [](const RankContext& context, const LossRun& run) {
    const double own = static_cast<double>(part_of_rank(context).targets);
    EXPECT_DOUBLE_EQ(run.scale, 1.0 / 6.0 / own) << "1 / M, without cp";
  });
}

TEST(MaskedLoss, WithoutTargetsDividesByOne) {
  const Case c = case_of(LossNorm::kMicroBatch);
  for (const std::int64_t values : {2, 3}) {
    LossPlan plan = plan_loss(c);
    plan.values = values;
    spawn_contexts(layout_of({}), [&](const RankContext& context) {
      Tape tape(context.ops);
      const Variable sum =
          tape.input(reals_from_host(context.ops, DType::kF64, std::array{0.0}, {1}, "test.sum"));
      const LossOutput output = masked_loss(context, tape, plan, sum, 0);
      EXPECT_EQ(loss_scale(context, plan, output), 1.0 / 12.0);
      EXPECT_EQ(values_of(output.loss.value)[0], 0.0);
    });
  }
}

// The objective that finalisation averages over dp and cp: sums of scaled losses of a pair.
TEST(MaskedLoss, OfTwoValuesIsAShareAndSharesOfAPairAddUpToItsMean) {
  const Case c = two_by_two(2);
  std::vector<double> shares(2, 0.0);  // by dp rank
  on_each_part(c, plan_loss(c), [&](const RankContext& context, const LossRun& run) {
    EXPECT_FALSE(run.output.count) << "two values have none";
    EXPECT_DOUBLE_EQ(run.scale, 2.0 / 6.0) << "cp / micro-batches in either mode";
    const double share = values_of(run.output.loss.value)[0];
    EXPECT_DOUBLE_EQ(
        share, part_of_rank(context).loss_sum / static_cast<double>(part_of_pair(context).targets));
    if (context.group_rank(GroupKind::kTp).value == 0) {
      shares[static_cast<std::size_t>(context.group_rank(GroupKind::kDp).value)] += share;
    }
  });
  EXPECT_DOUBLE_EQ(shares[0], 16.0 / 8.0) << "the loss at cp = 1";
  EXPECT_DOUBLE_EQ(shares[1], 29.0 / 9.0);
}

TEST(MaskedLoss, OfTwoAndOfThreeValuesHaveTheSameGradient) {
  std::vector<double> gradients(8, 0.0);  // by rank
  const Case three = two_by_two(3);
  on_each_part(three, plan_loss(three), [&](const RankContext& context, const LossRun& run) {
    gradients[static_cast<std::size_t>(context.rank.value)] = run.input_gradient;
    EXPECT_DOUBLE_EQ(run.input_gradient, run.scale);
  });
  const Case two = two_by_two(2);
  on_each_part(two, plan_loss(two), [&](const RankContext& context, const LossRun& run) {
    EXPECT_DOUBLE_EQ(run.input_gradient, gradients[static_cast<std::size_t>(context.rank.value)]);
  });
}

TEST(MaskedLoss, OfTwoValuesWithoutAGroupIsTheMeanOverOwnTargets) {
  const Case c = two_by_two(2);
  on_each_part(c, plan_loss(c, std::nullopt), [](const RankContext& context, const LossRun& run) {
    const OwnPart own = part_of_rank(context);
    EXPECT_DOUBLE_EQ(values_of(run.output.loss.value)[0],
                     own.loss_sum / static_cast<double>(own.targets));
    EXPECT_DOUBLE_EQ(run.scale, 2.0 / 6.0);
  });
}

TEST(MaskedLoss, ATokenMeanHasNoUseForAGroup) {
  const Case c = case_of(LossNorm::kToken, 2, 2);
  for (const std::optional<GroupKind> group :
       {std::optional<GroupKind>{}, std::optional{GroupKind::kCp}}) {
    LossPlan plan = plan_loss(c, group);
    EXPECT_EQ(to_text(plan), to_text(plan_loss(case_of(LossNorm::kToken))));
    plan.count_group = group;
    on_each_part(c, plan, [](const RankContext& context, const LossRun& run) {
      EXPECT_EQ(run.scale, 1.0);
      EXPECT_EQ(values_of(run.output.count)[0], static_cast<double>(part_of_rank(context).targets));
    });
  }
}

}  // namespace
}  // namespace lockstep
