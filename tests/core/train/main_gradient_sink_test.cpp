// Gradients on their way to their buckets, and sums that start within a backward pass: when, of
// what, and what may not happen after.
#include "core/train/main_gradient_sink.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/config/presets.h"
#include "core/model/describe_model.h"
#include "core/ops/elementwise.h"
#include "tests/core/train/two_parameters.h"
#include "tests/support/rank_fixture.h"

namespace lockstep {
namespace {

using test::kCut;
using test::kWhole;

AccumulationPlan plan_of(const Case& c) {
  return plan_accumulation(plan_buckets(describe_model(c.model, c.layout), c.recipe), c);
}

TEST(AccumulationPlan, GoldenTextOfTwoBucketsOnTwoByThreeRanks) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = 2;
  c.layout.dp = 3;
  c.recipe.bucket_elements = 3000;
  c.recipe.overlap = {"grad"};
  EXPECT_EQ(to_text(plan_of(c)),
            "accumulate.micro_batch0: keep 0, add\n"
            "accumulate.micro_batch1: keep 1, add\n"
            "accumulate.micro_batch2: keep 1, add\n"
            "accumulate.micro_batch3: keep 1, add, start sums\n"
            "backward.dp_sum.bucket0: sum bucket 0 over dp_cp after parameters 8 7 6 5\n"
            "backward.dp_sum.bucket1: sum bucket 1 over dp_cp after parameters 4 3 2 1 0\n");
}

TEST(AccumulationPlan, GoldenTextOfOneBucketAndOneMicroBatch) {
  Case c = preset_case("tiny-linear");
  c.layout.dp = 2;
  c.recipe.global_batch = 2;
  c.recipe.overlap = {"grad"};
  EXPECT_EQ(to_text(plan_of(c)),
            "accumulate.micro_batch0: keep 0, add, start sums\n"
            "backward.dp_sum.bucket0: sum bucket 0 over dp_cp after parameters 8 7 6 5 4 3 2 1 "
            "0\n");
}

TEST(AccumulationPlan, WithoutOverlapOrWithoutDataRanksNothingStartsEarly) {
  Case c = preset_case("tiny-linear");
  c.layout.dp = 3;
  EXPECT_EQ(to_text(plan_of(c)).find("sum"), std::string::npos);
  c.recipe.overlap = {"grad"};
  EXPECT_NE(to_text(plan_of(c)).find("sum"), std::string::npos);
  c.layout.dp = 1;
  EXPECT_EQ(to_text(plan_of(c)).find("sum"), std::string::npos);
}

// Two micro-batches of which the second starts the sums of two buckets over two data ranks.
AccumulationPlan two_sums() {
  return {.micro_batches = {{.label = "accumulate.micro_batch0", .keep = 0.0},
                            {.label = "accumulate.micro_batch1", .starts_sums = true}},
          .sums = {{.label = "backward.dp_sum.bucket0",
                    .bucket = {0},
                    .group = GroupKind::kDpCp,
                    .after = {kWhole}},
                   {.label = "backward.dp_sum.bucket1",
                    .bucket = {1},
                    .group = GroupKind::kDpCp,
                    .after = {kCut}}}};
}

// What a test does with the sink: all in one step, on two data ranks.
struct Work {
  const RankContext& context;
  const GradientBuckets& buckets;
  MainGradientSink& sink;

  // A gradient of `value`s, and that it was the last.
  void add(ParameterId parameter, double value) const {
    const Tensor gradient =
        new_tensor(context.ops, buckets.main_gradient(parameter).shape, "test.gradient");
    fill(context.ops, gradient, value, "test.gradient");
    sink.accumulate(parameter, gradient);
  }
  void add_last(ParameterId parameter, double value) const {
    add(parameter, value);
    sink.finished(parameter);
  }
  double first(ParameterId parameter) const {
    return test::values_of(buckets.main_gradient(parameter))[0];
  }
};

sim::ClusterReport run(const AccumulationPlan& plan, const std::function<void(const Work&)>& work) {
  const ParameterTable table = test::two_parameters(1);
  return test::spawn_contexts(test::layout_of({.dp = 2}), [&](const RankContext& context) {
    const GradientBuckets buckets(context.ops, test::a_bucket_each(), table);
    buckets.fill_all(0.0, "test.zero");
    MainGradientSink sink(context, plan, buckets);
    sink.begin_step();
    work({.context = context, .buckets = buckets, .sink = sink});
  });
}

TEST(MainGradientSink, AMicroBatchThatStartsNoSumsOnlyAccumulates) {
  const sim::ClusterReport report = run(two_sums(), [](const Work& work) {
    work.sink.begin_micro_batch(0);
    work.add_last(kWhole, 1.0);
    work.add_last(kCut, 1.0);
    EXPECT_EQ(work.first(kWhole), 1.0);
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
  EXPECT_EQ(report.num_calls, 0);
}

TEST(MainGradientSink, ABucketIsSummedOnceItsLastGradientIsFinished) {
  const sim::ClusterReport report = run(two_sums(), [](const Work& work) {
    const double own = 1.0 + work.context.rank.value;
    work.sink.begin_micro_batch(0);
    work.add_last(kWhole, own);
    work.add_last(kCut, own);
    work.sink.begin_micro_batch(1);
    work.add(kWhole, own);
    work.add_last(kWhole, own);
    work.add_last(kCut, own);
    work.sink.wait({0}, "finalize.dp_wait.bucket0");
    work.sink.wait({1}, "finalize.dp_wait.bucket1");
    EXPECT_EQ(work.first(kWhole), 3.0 * (1.0 + 2.0));
    EXPECT_EQ(work.first(kCut), 2.0 * (1.0 + 2.0));
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
  EXPECT_EQ(report.num_calls, 4) << "two buckets on two ranks";
}

TEST(MainGradientSink, StartDoesNotWait) {
  const sim::ClusterReport report = run(two_sums(), [](const Work& work) {
    work.sink.begin_micro_batch(1);
    work.add_last(kWhole, 1.0);
  });
  const std::string text = test::to_text(report);
  EXPECT_NE(text.find("backward.dp_sum.bucket0"), std::string::npos) << text;
}

TEST(MainGradientSink, WaitingAgainDoesNothing) {
  const sim::ClusterReport report = run(two_sums(), [](const Work& work) {
    work.sink.begin_micro_batch(1);
    work.add_last(kWhole, 1.0);
    work.sink.wait({0}, "finalize.dp_wait.bucket0");
    work.sink.wait({0}, "finalize.dp_wait.bucket0");
    EXPECT_EQ(work.first(kWhole), 2.0);
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
}

TEST(MainGradientSink, WhatAStepBeforeLeftIsGoneInTheFirstMicroBatch) {
  run(two_sums(), [](const Work& work) {
    work.buckets.fill_all(std::numeric_limits<double>::quiet_NaN(), "test.left");
    work.sink.begin_micro_batch(0);
    work.add_last(kWhole, 1.0);
    EXPECT_EQ(work.first(kWhole), 1.0);
    EXPECT_EQ(work.first(kCut), 0.0);
  });
}

TEST(MainGradientSink, AMicroBatchKeepsAndAddsWhatItsEntrySays) {
  AccumulationPlan plan = two_sums();
  plan.micro_batches[1] = {.label = "accumulate.micro_batch1", .keep = 2.0, .adds = false};
  run(plan, [](const Work& work) {
    for (std::int64_t m = 0; m < 2; ++m) {
      work.sink.begin_micro_batch(m);
      work.add_last(kWhole, 3.0);
    }
    EXPECT_EQ(work.first(kWhole), 6.0);
  });
}

TEST(MainGradientSink, ASumThatAnEarlierMicroBatchStartedEndsBeforeTheNext) {
  AccumulationPlan plan = two_sums();
  plan.micro_batches[0].starts_sums = true;
  const sim::ClusterReport report = run(plan, [](const Work& work) {
    for (std::int64_t m = 0; m < 2; ++m) {
      work.sink.begin_micro_batch(m);
      work.add_last(kWhole, 1.0);
    }
    work.sink.wait({0}, "finalize.dp_wait.bucket0");
  });
  EXPECT_TRUE(report.findings.empty()) << "none is left pending: " << test::to_text(report);
  EXPECT_EQ(report.num_calls, 4) << "two sums on two ranks";
}

TEST(MainGradientSink, TheNextStepStartsThemAnew) {
  const sim::ClusterReport report = run(two_sums(), [](const Work& work) {
    for (int step = 0; step < 2; ++step) {
      work.buckets.fill_all(0.0, "test.zero");
      work.sink.begin_step();
      work.sink.begin_micro_batch(1);
      work.add_last(kWhole, 1.0);
      work.sink.wait({0}, "finalize.dp_wait.bucket0");
      EXPECT_EQ(work.first(kWhole), 2.0);
    }
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
}

// The report of work that is expected to fail on every rank.
std::string failure(const std::function<void(const Work&)>& work) {
  return test::to_text(run(two_sums(), work));
}

TEST(MainGradientSink, FinishingAGradientTwiceIsAnError) {
  const std::string text = failure([](const Work& work) {
    work.sink.begin_micro_batch(0);
    work.add_last(kCut, 1.0);
    work.sink.finished(kCut);
  });
  EXPECT_NE(text.find("the gradient of parameter 0 is finished twice"), std::string::npos) << text;
}

TEST(MainGradientSink, WaitingForABucketThatWasNeverStartedNamesIt) {
  const std::string text = failure([](const Work& work) {
    work.sink.begin_micro_batch(1);
    work.sink.wait({1}, "finalize.dp_wait.bucket1");
  });
  EXPECT_NE(text.find("bucket1 is waited for, but its sum was never started"), std::string::npos)
      << text;
}

TEST(MainGradientSink, ASumOfTheStepBeforeIsNoneOfThisOne) {
  const std::string text = failure([](const Work& work) {
    work.sink.begin_micro_batch(1);
    work.add_last(kWhole, 1.0);
    work.sink.wait({0}, "finalize.dp_wait.bucket0");
    work.sink.begin_step();
    work.sink.begin_micro_batch(1);
    work.sink.wait({0}, "finalize.dp_wait.bucket0");
  });
  EXPECT_NE(text.find("bucket0 is waited for, but its sum was never started"), std::string::npos)
      << text;
}

TEST(MainGradientSink, WithoutSumsEveryMicroBatchOnlyAccumulates) {
  AccumulationPlan plan = two_sums();
  plan.sums.clear();
  const sim::ClusterReport report = run(plan, [](const Work& work) {
    for (std::int64_t micro_batch = 0; micro_batch < 2; ++micro_batch) {
      work.sink.begin_micro_batch(micro_batch);
      work.add_last(kWhole, 1.0);
    }
    EXPECT_EQ(work.first(kWhole), 2.0);
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
  EXPECT_EQ(report.num_calls, 0);
}

TEST(MainGradientSink, ASecondSumOfABucketIsAnError) {
  AccumulationPlan plan = two_sums();
  plan.sums[1].bucket = {0};
  const std::string text = test::to_text(run(plan, [](const Work&) {}));
  EXPECT_NE(text.find("backward.dp_sum.bucket1 is the second sum of its bucket"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace lockstep
