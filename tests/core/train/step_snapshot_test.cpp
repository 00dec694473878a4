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
    EXPECT_EQ(shards[0].slice.runs[0].global, tp * 3);
    EXPECT_EQ(shards[0].slice.runs[0].count, tp == 0 ? 3 : 2);
    EXPECT_EQ(shards[0].values, std::vector<double>(6, 1.0));
    EXPECT_EQ(shards[1].values, std::vector<double>(3, 2.0));
    const std::vector<Tensor> traced{filled(context, {4, 2}, 3.0)};
    EXPECT_EQ(snapshot.of_activations(traced)[0].values, std::vector<double>(8, 3.0));
    EXPECT_EQ(snapshot.of_activations(traced)[0].name, "embedding");
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
    snapshot.of_activations(std::vector<Tensor>{filled(own, {4, 2}, 3.0)});
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
    EXPECT_THROW(snapshot.of_activations({}), InternalError);
  });
}

}  // namespace
}  // namespace lockstep
