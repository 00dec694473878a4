// The finalize plan's golden texts, and its executor on numbers that show each entry.
#include "core/train/finalize_grads.h"

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "core/config/presets.h"
#include "core/model/describe_model.h"
#include "core/ops/elementwise.h"
#include "tests/support/rank_fixture.h"

namespace lockstep {
namespace {

FinalizePlan plan_of(const Case& c) {
  const ParameterTable table = describe_model(c.model, c.layout);
  return plan_finalize(table, plan_buckets(table, c.recipe), c);
}

TEST(FinalizePlan, GoldenTextOfATokenMeanOnTwoByThreeRanks) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = 2;
  c.layout.dp = 3;
  c.recipe.loss_norm = LossNorm::kToken;
  c.recipe.bucket_elements = 3000;
  EXPECT_EQ(to_text(plan_of(c)),
            "finalize.dp_sum.bucket0: sum bucket 0 over dp_cp\n"
            "finalize.dp_sum.bucket1: sum bucket 1 over dp_cp\n"
            "finalize.totals_sum: sum totals over dp_cp\n"
            "finalize.scale: scale by targets factor 1\n");
}

TEST(FinalizePlan, GoldenTextOfAMicroBatchMeanOnFourRanks) {
  Case c = preset_case("tiny-linear");
  c.layout.dp = 4;
  c.recipe.loss_norm = LossNorm::kMicroBatch;
  c.recipe.bucket_elements = 0;
  EXPECT_EQ(to_text(plan_of(c)),
            "finalize.dp_sum.bucket0: sum bucket 0 over dp_cp\n"
            "finalize.totals_sum: sum totals over dp_cp\n"
            "finalize.scale: scale factor 0.25\n");
}

TEST(FinalizePlan, SumsThatABackwardPassStartedAreWaitedFor) {
  Case c = preset_case("tiny-linear");
  c.layout.dp = 3;
  c.recipe.loss_norm = LossNorm::kMicroBatch;
  c.recipe.bucket_elements = 5000;
  c.recipe.overlap = {"grad"};
  EXPECT_EQ(to_text(plan_of(c)),
            "finalize.dp_wait.bucket0: wait for bucket 0\n"
            "finalize.dp_wait.bucket1: wait for bucket 1\n"
            "finalize.totals_sum: sum totals over dp_cp\n"
            "finalize.scale: scale factor 0.3333333333333333\n");
}

TEST(FinalizePlan, NormsAreSummedOverTpUnderSequenceParallelismAndHeadNormsAlways) {
  Case c = preset_case("tiny-dense");
  c.model.num_hidden_layers = 1;
  c.layout.tp = 2;
  EXPECT_EQ(to_text(plan_of(c)),
            "finalize.tp_sum.decoder.layers.0.self_attention.q_layernorm.weight: sum parameter 3 "
            "over tp\n"
            "finalize.tp_sum.decoder.layers.0.self_attention.k_layernorm.weight: sum parameter 4 "
            "over tp\n"
            "finalize.scale: scale by targets factor 1\n");
  c.layout.sp = true;
  EXPECT_EQ(to_text(plan_of(c)),
            "finalize.tp_sum.decoder.layers.0.self_attention.linear_qkv.layer_norm_weight: sum "
            "parameter 1 over tp\n"
            "finalize.tp_sum.decoder.layers.0.self_attention.q_layernorm.weight: sum parameter 3 "
            "over tp\n"
            "finalize.tp_sum.decoder.layers.0.self_attention.k_layernorm.weight: sum parameter 4 "
            "over tp\n"
            "finalize.tp_sum.decoder.layers.0.mlp.linear_fc1.layer_norm_weight: sum parameter 6 "
            "over tp\n"
            "finalize.tp_sum.decoder.final_layernorm.weight: sum parameter 9 over tp\n"
            "finalize.scale: scale by targets factor 1\n");
}

TEST(FinalizePlan, WithoutDataRanksNothingIsSummed) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = 4;
  c.recipe.loss_norm = LossNorm::kMicroBatch;
  EXPECT_EQ(to_text(plan_of(c)), "finalize.scale: scale factor 1\n");
}

TEST(FinalizePlan, AGradientThatIsPartialOverTpIsSummedThere) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = 2;
  ParameterTable table = describe_model(c.model, c.layout);
  const ParameterId norm = find_parameter(table, "decoder.final_layernorm.weight");
  table[static_cast<std::size_t>(norm.value)].gradient[0] = PlacementKind::kPartial;
  const FinalizePlan plan = plan_finalize(table, plan_buckets(table, c.recipe), c);
  EXPECT_EQ(plan.entries[0].label, "finalize.tp_sum.decoder.final_layernorm.weight");
  EXPECT_EQ(plan.entries[0].group, GroupKind::kTp);
}

// One parameter of two elements on tp 2 x dp 2, gradients 2^rank: every group sum is told apart.
struct SmallRun {
  std::vector<double> gradient;
  StepTotals totals;
};

std::vector<SmallRun> run(const FinalizePlan& plan) {
  const ParameterTable table{{.name = "w", .full_shape = {2}}};
  const BucketPlan buckets{{{.slots = {{.parameter = {0}, .offset = 0}}, .num_elements = 64}}};
  std::vector<SmallRun> runs(4);
  const auto report =
      test::spawn_contexts(test::layout_of({.tp = 2, .dp = 2}), [&](const RankContext& context) {
        const GradientBuckets gradients(context.ops, buckets, table);
        gradients.fill_all(0.0, "test.zero");
        const double value = static_cast<double>(1 << context.rank.value);
        fill(context.ops, gradients.main_gradient({0}), value, "test");
        SmallRun& own = runs[static_cast<std::size_t>(context.rank.value)];
        const AccumulationPlan accumulation;
        MainGradientSink sink(context, accumulation, gradients);
        sink.begin_step();
        own.totals = finalize_grads(
            context, plan, gradients, sink, {.objective = 10.0 * value, .targets = value});
        own.gradient = test::values_of(gradients.main_gradient({0}));
      });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
  return runs;
}

TEST(FinalizeGrads, ABucketIsSummedOverTheGroupOfItsEntry) {
  const std::vector<SmallRun> runs = run({{{.label = "finalize.dp_sum.bucket0",
                                            .action = FinalizeAction::kSumBucket,
                                            .group = GroupKind::kDpCp,
                                            .bucket = {0}}}});
  EXPECT_EQ(runs[0].gradient, (std::vector{5.0, 5.0}));    // ranks 0 and 2
  EXPECT_EQ(runs[1].gradient, (std::vector{10.0, 10.0}));  // ranks 1 and 3
  EXPECT_EQ(runs[3].gradient, (std::vector{10.0, 10.0}));
}

TEST(FinalizeGrads, AParameterIsSummedOverTheGroupOfItsEntry) {
  const std::vector<SmallRun> runs = run({{{.label = "finalize.tp_sum.w",
                                            .action = FinalizeAction::kSumParameter,
                                            .group = GroupKind::kTp,
                                            .parameter = {0}}}});
  EXPECT_EQ(runs[0].gradient, (std::vector{3.0, 3.0}));
  EXPECT_EQ(runs[2].gradient, (std::vector{12.0, 12.0}));
}

TEST(FinalizeGrads, ScalingByTargetsDividesGradientsAndObjectiveByTheSummedCount) {
  const std::vector<SmallRun> runs =
      run({{{.label = "finalize.totals_sum",
             .action = FinalizeAction::kSumTotals,
             .group = GroupKind::kDpCp},
            {.label = "finalize.scale", .action = FinalizeAction::kScaleByTargets}}});
  EXPECT_EQ(runs[0].totals.targets, 5.0);
  EXPECT_EQ(runs[0].totals.objective, 10.0);
  EXPECT_EQ(runs[2].gradient, (std::vector{0.8, 0.8}));
}

TEST(FinalizeGrads, AConstantScalesGradientsAndObjectiveAlike) {
  const std::vector<SmallRun> runs =
      run({{{.label = "finalize.scale", .action = FinalizeAction::kScale, .factor = 0.5}}});
  EXPECT_EQ(runs[3].gradient, (std::vector{4.0, 4.0}));
  EXPECT_EQ(runs[3].totals.objective, 40.0);
  EXPECT_EQ(runs[3].totals.targets, 8.0);
}

TEST(FinalizeGrads, AWaitForASumThatNoBackwardPassStartedIsAnError) {
  const ParameterTable table{{.name = "w", .full_shape = {2}}};
  const BucketPlan buckets{{{.slots = {{.parameter = {0}, .offset = 0}}, .num_elements = 64}}};
  test::spawn_contexts(test::layout_of({}), [&](const RankContext& context) {
    const GradientBuckets gradients(context.ops, buckets, table);
    const AccumulationPlan accumulation;
    MainGradientSink sink(context, accumulation, gradients);
    const FinalizePlan plan{{{.label = "finalize.dp_wait.bucket0",
                              .action = FinalizeAction::kWaitBucket,
                              .bucket = {0}}}};
    EXPECT_THROW(finalize_grads(context, plan, gradients, sink, {}), InternalError);
  });
}

TEST(FinalizeGrads, NoTargetsAtAllDividesByOne) {
  const ParameterTable table{{.name = "w", .full_shape = {2}}};
  const BucketPlan buckets{{{.slots = {{.parameter = {0}, .offset = 0}}, .num_elements = 64}}};
  test::spawn_contexts(test::layout_of({}), [&](const RankContext& context) {
    const GradientBuckets gradients(context.ops, buckets, table);
    gradients.fill_all(0.0, "test.zero");
    const FinalizePlan plan{
        {{.label = "finalize.scale", .action = FinalizeAction::kScaleByTargets}}};
    const AccumulationPlan accumulation;
    MainGradientSink sink(context, accumulation, gradients);
    const StepTotals totals = finalize_grads(context, plan, gradients, sink, {});
    EXPECT_EQ(totals.objective, 0.0);
    EXPECT_EQ(test::values_of(gradients.main_gradient({0})), (std::vector{0.0, 0.0}));
  });
}

}  // namespace
}  // namespace lockstep
