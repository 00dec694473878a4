// Tensors as shards of full tensors.
#include "core/train/step_snapshot.h"

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "core/ops/elementwise.h"
#include "tests/core/train/two_parameters.h"
#include "tests/support/rank_fixture.h"
#include "tests/support/recording_device.h"

namespace lockstep {
namespace {

Tensor filled(const RankContext& context, const Shape& shape, double value) {
  const Tensor tensor = new_tensor(context.ops, shape, "test.tensor");
  fill(context.ops, tensor, value, "test.tensor");
  return tensor;
}

const ActivationRowRuns kAllRows{
    .all = {{.count = 4}}, .own = {{.count = 4}}, .num_all = 4, .num_own = 4};

TEST(StepSnapshot, AnActivationHasTheRowsOfItsOwnMicroBatch) {
  const ActivationTable activations{{.name = "embedding", .full_shape = {4, 2}}};
  test::spawn_contexts(test::layout_of({}), [&](const RankContext& context) {
    const StepSnapshot snapshot(context, test::two_parameters(1), activations);
    for (const std::int64_t num_rows : {1, 3}) {
      const ActivationRowRuns rows{.own = {{.global = 1, .count = num_rows}}, .num_own = num_rows};
      const std::vector<Tensor> traced{filled(context, {num_rows, 2}, 3.0)};
      const Shard shard = snapshot.of_activations(traced, rows).at(0);
      EXPECT_EQ(shard.local_shape, (std::vector<std::int64_t>{num_rows, 2}));
      EXPECT_EQ(shard.slices, (std::vector<ShardSlice>{{.dim = 0, .runs = rows.own}}));
    }
  });
}

TEST(StepSnapshot, AShardSaysWhichPartOfTheFullTensorItHolds) {
  const ActivationTable activations{{.name = "embedding", .full_shape = {4, 2}}};
  test::spawn_contexts(test::layout_of({.tp = 2}), [&](const RankContext& context) {
    const StepSnapshot snapshot(context, test::two_parameters(2), activations);
    const std::vector<Tensor> tensors{filled(context, {3, 2}, 1.0), filled(context, {3}, 2.0)};
    const std::vector<Shard> shards = snapshot.of_parameters(SnapshotKind::kGradient, tensors);
    ASSERT_EQ(shards.size(), 2U);
    EXPECT_EQ(shards[0].name, "cut");
    EXPECT_EQ(shards[0].full_shape, (std::vector<std::int64_t>{5, 2}));
    const int tp = context.group_rank(GroupKind::kTp).value;
    EXPECT_EQ(shards[0].slices.at(0).runs[0].global, tp * 3);
    EXPECT_EQ(shards[0].slices.at(0).runs[0].count, tp == 0 ? 3 : 2);
    EXPECT_EQ(shards[0].values, std::vector<double>(6, 1.0));
    EXPECT_EQ(shards[1].values, std::vector<double>(3, 2.0));
    const std::vector<Tensor> traced{filled(context, {4, 2}, 3.0)};
    const Shard activation = snapshot.of_activations(traced, kAllRows)[0];
    EXPECT_EQ(activation.values, std::vector<double>(8, 3.0));
    EXPECT_EQ(activation.name, "embedding");
  });
}

// A context like the one given whose launches are recorded.
RankContext recorded(const RankContext& context, test::RecordingDevice& device) {
  return {.rank = context.rank,
          .mesh = context.mesh,
          .ops = {.device = device, .kernels = context.ops.kernels},
          .communicators = context.communicators,
          .mappings = context.mappings};
}

TEST(StepSnapshot, EachReadBearsTheNamesOfItsKindAndOfItsTensor) {
  const ActivationTable activations{{.name = "embedding", .full_shape = {4, 2}}};
  test::spawn_contexts(test::layout_of({}), [&](const RankContext& context) {
    test::RecordingDevice device;
    const RankContext own = recorded(context, device);
    const StepSnapshot snapshot(own, test::two_parameters(1), activations);
    const std::vector<Tensor> tensors{filled(own, {5, 2}, 1.0), filled(own, {3}, 2.0)};
    snapshot.of_parameters(SnapshotKind::kGradient, tensors);
    snapshot.of_parameters(SnapshotKind::kExpAvgSq, tensors);
    snapshot.of_activations(std::vector<Tensor>{filled(own, {4, 2}, 3.0)}, kAllRows);
    std::vector<std::string> labels;
    for (const test::SeenLaunch& launch : device.seen()) {
      if (launch.kind == LaunchKind::kHostRead) labels.push_back(launch.label);
    }
    EXPECT_EQ(labels,
              (std::vector<std::string>{"snapshot.gradient.cut",
                                        "snapshot.gradient.whole",
                                        "snapshot.exp_avg_sq.cut",
                                        "snapshot.exp_avg_sq.whole",
                                        "snapshot.activation.embedding"}));
  });
}

TEST(StepSnapshot, WhatTheOptimizerDoesNotKeepIsNone) {
  test::spawn_contexts(test::layout_of({}), [&](const RankContext& context) {
    const StepSnapshot snapshot(context, test::two_parameters(1), {});
    EXPECT_TRUE(snapshot.of_parameters(SnapshotKind::kExpAvg, {}).empty());
  });
}

TEST(StepSnapshot, ATensorThatIsMissingIsAnError) {
  const ActivationTable activations{{.name = "embedding", .full_shape = {4, 2}}};
  test::spawn_contexts(test::layout_of({}), [&](const RankContext& context) {
    const StepSnapshot snapshot(context, test::two_parameters(1), activations);
    const std::vector<Tensor> one{filled(context, {5, 2}, 1.0)};
    EXPECT_THROW(snapshot.of_parameters(SnapshotKind::kGradient, one), InternalError);
    EXPECT_THROW(snapshot.of_activations({}, kAllRows), InternalError);
  });
}

}  // namespace
}  // namespace lockstep
