// Which samples a rank trains on.
#include "core/train/batch.h"

#include <gtest/gtest.h>

#include <set>

#include "core/config/data.h"
#include "core/config/presets.h"
#include "tests/support/rank_fixture.h"

namespace lockstep {
namespace {

TEST(BatchPlan, DataRanksShareTheGlobalMicroBatchesRoundRobin) {
  Case c = preset_case("tiny-linear");
  c.layout.dp = 3;
  const BatchPlan plan = plan_batch(c);
  EXPECT_EQ(to_text(plan), "batch: 4 micro-batches of 1, global number m * 3 + d * 1\n");
  std::set<std::int64_t> seen;
  for (int d = 0; d < 3; ++d) {
    for (std::int64_t m = 0; m < plan.num_micro_batches; ++m) {
      const std::int64_t index = global_micro_batch(plan, m, {d});
      EXPECT_EQ(index % 3, d);
      EXPECT_TRUE(seen.insert(index).second);
    }
  }
  EXPECT_EQ(seen.size(), 12U);
}

TEST(MicroBatch, RowsAreSequenceMajorAndLabelsAreTheNextTokens) {
  Case c = preset_case("tiny-linear");
  c.recipe.micro_batch = 2;
  test::spawn_contexts(test::layout_of({}), [&](const RankContext& context) {
    const MicroBatch batch =
        make_micro_batch(context, c, plan_batch(c), {.step = 1, .global_micro_batch = 3});
    std::int64_t targets = 0;
    for (std::int64_t s = 0; s < c.recipe.seq; ++s) {
      for (std::int64_t b = 0; b < 2; ++b) {
        const std::int64_t row = s * 2 + b;
        EXPECT_EQ(batch.ids_T.data<std::int64_t>()[row], token(c, 1, 6 + b, s));
        EXPECT_EQ(batch.labels_T.data<std::int64_t>()[row], token(c, 1, 6 + b, s + 1));
        const bool counts = is_target(c, 1, 6 + b, s);
        EXPECT_EQ(batch.weights_T.data<double>()[row], counts ? 1.0 : 0.0);
        targets += counts ? 1 : 0;
      }
    }
    EXPECT_EQ(batch.targets, targets);
  });
}

}  // namespace
}  // namespace lockstep
