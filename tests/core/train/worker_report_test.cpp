// One micro-batch alone, as a worker runs it to report on it: what context ranks lose and derive
// adds up to what one rank does, and a mean over local targets does so but for a known factor.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/config/data.h"
#include "core/config/presets.h"
#include "tests/support/micro_batch_run.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::MicroBatchRun;
using test::relative_error;
using test::run_micro_batch;

constexpr MicroBatchId kMicroBatch{.step = 1, .global_micro_batch = 3};

Case alone_case(bool packing) {
  Case c = preset_case("tiny-context");
  c.recipe.packing = packing;
  return c;
}

Case over_cp(Case c, std::int64_t cp) {
  c.layout.cp = cp;
  return c;
}

void expect_equal_gradients(const MicroBatchRun& actual, const MicroBatchRun& expected) {
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
  for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
    EXPECT_LT(relative_error(actual.gradients[i], expected.gradients[i]), 1e-11) << i;
  }
}

TEST(WorkerReport, LossSumsAndTargetsOfContextRanksAddUpToThoseOfOneRank) {
  for (const bool packing : {false, true}) {
    const Case c = alone_case(packing);
    const MicroBatchRun alone = run_micro_batch(c, {.id = kMicroBatch});
    const MicroBatchRun halves = run_micro_batch(over_cp(c, 2), {.id = kMicroBatch});
    ASSERT_EQ(halves.loss_sums.size(), 2U);
    EXPECT_GT(halves.loss_sums[0], 0.0);
    EXPECT_GT(halves.loss_sums[1], 0.0);
    EXPECT_NEAR(
        halves.loss_sums[0] + halves.loss_sums[1], alone.loss_sums[0], 1e-12 * alone.loss_sums[0]);
    EXPECT_NE(halves.targets[0], halves.targets[1]) << "an uneven mask, or counts show nothing";
    EXPECT_EQ(halves.targets[0] + halves.targets[1], alone.targets[0]);
  }
}

// With tokens untied from each other the embedding's gradient is that of the embedding's output,
// position for position: every token of the sample is an id of its own.
TEST(WorkerReport, GradientsMatchPositionForPosition) {
  for (const bool packing : {false, true}) {
    Case c = alone_case(packing);
    c.model.vocab_size = 4096;
    std::set<std::int64_t> ids;
    for (std::int64_t p = 0; p < c.recipe.seq; ++p) ids.insert(token(c, 1, 3, p));
    ASSERT_GE(ids.size(), 63U) << "almost no id comes twice";
    const MicroBatchRun alone = run_micro_batch(c, {.id = kMicroBatch});
    for (const std::int64_t cp : {2, 4}) {
      const MicroBatchRun parts = run_micro_batch(over_cp(c, cp), {.id = kMicroBatch});
      expect_equal_gradients(parts, alone);
      const auto width = static_cast<std::size_t>(c.model.hidden_size);
      for (const std::int64_t id : ids) {
        const auto first = static_cast<std::size_t>(id) * width;
        const auto row = [&](const MicroBatchRun& run) {
          const auto begin = run.gradients[0].begin() + static_cast<std::ptrdiff_t>(first);
          return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(width));
        };
        EXPECT_LT(relative_error(row(parts), row(alone)), 1e-9) << "id " << id;
      }
    }
  }
}

double mean_over_own_targets(const MicroBatch& batch) {
  return 1.0 / static_cast<double>(std::max<std::int64_t>(batch.targets, 1));
}

// With the targets of one part alone, so that a local mean has nothing to mix; each rank still
// counts all of its own.
MicroBatchRun with_targets_of_one_part(const Case& c, std::int64_t part, bool local_mean) {
  test::MicroBatchOptions options{.id = kMicroBatch};
  const std::int64_t cp = c.layout.cp;
  options.edit_batch = [part, cp](const RankContext& context, MicroBatch& batch) {
    if (context.mesh.coordinate(context.rank, Axis::kCp) == part || cp == 1) return;
    double* weights = batch.weights_T.data<double>();
    std::fill(weights, weights + batch.weights_T.num_elements(), 0.0);
  };
  if (local_mean) options.loss_gradient = mean_over_own_targets;
  return run_micro_batch(c, options);
}

TEST(WorkerReport, AMeanOverLocalTargetsIsOffByExactlyGlobalOverLocalTargets) {
  const Case c = over_cp(alone_case(false), 2);
  const MicroBatchRun sums = run_micro_batch(c, {.id = kMicroBatch});
  const double global = static_cast<double>(sums.num_targets(c.layout));
  for (const std::int64_t part : {0, 1}) {
    const MicroBatchRun right = with_targets_of_one_part(c, part, false);
    const MicroBatchRun local = with_targets_of_one_part(c, part, true);
    const double own = static_cast<double>(right.targets[static_cast<std::size_t>(part)]);
    ASSERT_NE(own, global);
    for (std::size_t i = 0; i < right.gradients.size(); ++i) {
      std::vector<double> expected =
          right.gradients[i];  // a mean over all targets is this / global
      for (double& value : expected) value = value / global * (global / own);
      EXPECT_LT(relative_error(local.gradients[i], expected), 1e-12) << i;
    }
  }
}

TEST(WorkerReport, LocalMeansTogetherAreTheirPartsScaledEachByItsOwnFactor) {
  const Case c = over_cp(alone_case(true), 2);
  const MicroBatchRun mixed =
      run_micro_batch(c, {.id = kMicroBatch, .loss_gradient = mean_over_own_targets});
  const MicroBatchRun first = with_targets_of_one_part(c, 0, false);
  const MicroBatchRun second = with_targets_of_one_part(c, 1, false);
  const auto own = [&](std::size_t part) { return static_cast<double>(first.targets[part]); };
  for (std::size_t i = 0; i < mixed.gradients.size(); ++i) {
    std::vector<double> expected = first.gradients[i];
    for (std::size_t e = 0; e < expected.size(); ++e) {
      expected[e] = expected[e] / own(0) + second.gradients[i][e] / own(1);
    }
    EXPECT_LT(relative_error(mixed.gradients[i], expected), 1e-11) << i;
  }
}

}  // namespace
}  // namespace lockstep
