// How the loss goes over the vocabulary of a case.
#include "core/model/cross_entropy_plan.h"

#include <gtest/gtest.h>

#include "core/config/presets.h"

namespace lockstep {
namespace {

Case case_of(std::int64_t tp, bool gather_output) {
  Case c = preset_case("tiny-dense");
  c.layout.tp = tp;
  c.model.gather_output = gather_output;
  return c;
}

TEST(CrossEntropyPlan, LogitsThatAreCutOverTpHaveTheirMaximumAndStatisticsJoinedThere) {
  EXPECT_EQ(to_text(plan_cross_entropy(case_of(4, false))),
            "cross_entropy: 24 logits from tp * 24 on, 90 real, smoothing 0 over 90, max over tp\n"
            "forward.sum.cross_entropy: statistics 0 to 2 over tp\n");
}

TEST(CrossEntropyPlan, GatheredLogitsAreWholeOnEveryRankAndJoinNothing) {
  EXPECT_EQ(to_text(plan_cross_entropy(case_of(4, true))),
            "cross_entropy: 96 logits from tp * 0 on, 90 real, smoothing 0 over 90\n");
}

TEST(CrossEntropyPlan, ALoneRankJoinsNothing) {
  const CrossEntropyPlan plan = plan_cross_entropy(case_of(1, false));
  EXPECT_FALSE(plan.max_group.has_value());
  EXPECT_TRUE(plan.sums.empty());
}

TEST(CrossEntropyPlan, SmoothingOverTheOtherIdsIsAWeightOverAllReal) {
  Case c = case_of(2, false);
  c.recipe.label_smoothing = 0.1;
  EXPECT_DOUBLE_EQ(plan_cross_entropy(c).smoothing.weight, 0.1 * 90.0 / 89.0);
  EXPECT_EQ(plan_cross_entropy(c).smoothing.vocabulary, 90) << "without padding";
}

}  // namespace
}  // namespace lockstep
