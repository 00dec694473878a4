// What a micro-batch's loss is divided by.
#include "core/train/loss.h"

#include <gtest/gtest.h>

#include "core/config/presets.h"

namespace lockstep {
namespace {

TEST(LossPlan, ATokenMeanLeavesTheDivisionToFinalisation) {
  Case c = preset_case("tiny-linear");
  c.recipe.loss_norm = LossNorm::kToken;
  EXPECT_EQ(to_text(plan_loss(c)), "loss: factor 1 / 1, smoothing 0 over 90\n");
  EXPECT_EQ(loss_scale(plan_loss(c), 7), 1.0);
}

TEST(LossPlan, AMicroBatchMeanDividesByItsTargetsAndTheNumberOfMicroBatches) {
  Case c = preset_case("tiny-linear");
  c.recipe.loss_norm = LossNorm::kMicroBatch;
  c.layout.dp = 3;  // 4 micro-batches a rank
  EXPECT_EQ(to_text(plan_loss(c)),
            "loss: factor 0.25 / targets of the micro-batch, smoothing 0 over 90\n");
  EXPECT_EQ(loss_scale(plan_loss(c), 5), 0.05);
}

TEST(LossPlan, SmoothingOverTheOtherIdsIsAWeightOverAllReal) {
  Case c = preset_case("tiny-dense");
  c.recipe.label_smoothing = 0.1;
  EXPECT_DOUBLE_EQ(plan_loss(c).smoothing.weight, 0.1 * 90.0 / 89.0);
  EXPECT_EQ(plan_loss(c).smoothing.vocabulary, 90) << "without padding";
}

TEST(LossPlan, AMicroBatchWithoutTargetsDividesByOne) {
  Case c = preset_case("tiny-linear");
  c.recipe.loss_norm = LossNorm::kMicroBatch;
  EXPECT_EQ(loss_scale(plan_loss(c), 0), plan_loss(c).factor);
}

}  // namespace
}  // namespace lockstep
