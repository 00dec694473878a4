// What a micro-batch's loss is divided by.
#include "core/train/loss.h"

#include <gtest/gtest.h>

#include "core/config/presets.h"

namespace lockstep {
namespace {

TEST(LossPlan, ATokenMeanLeavesTheDivisionToFinalisation) {
  Case c = preset_case("tiny-linear");
  c.recipe.loss_norm = LossNorm::kToken;
  EXPECT_EQ(to_text(plan_loss(c)), "loss: factor 1 / 1, reported from the sum\n");
  EXPECT_EQ(loss_scale(plan_loss(c), 7), 1.0);
}

TEST(LossPlan, AMicroBatchMeanDividesByItsTargetsAndTheNumberOfMicroBatches) {
  Case c = preset_case("tiny-linear");
  c.recipe.loss_norm = LossNorm::kMicroBatch;
  c.layout.dp = 3;  // 4 micro-batches a rank
  EXPECT_EQ(to_text(plan_loss(c)),
            "loss: factor 0.25 / targets of the micro-batch, reported from the sum\n");
  EXPECT_EQ(loss_scale(plan_loss(c), 5), 0.05);
}

TEST(LossPlan, TheReportReadsTheSumBeforeItIsScaled) {
  Case c = preset_case("tiny-linear");
  c.recipe.loss_norm = LossNorm::kMicroBatch;
  c.layout.dp = 3;  // 4 micro-batches a rank
  LossPlan plan = plan_loss(c);
  EXPECT_EQ(reported_loss(plan, 10.0, 5), 2.0);
  EXPECT_EQ(reported_loss(plan, 0.0, 0), 0.0) << "without targets";
  plan.reported = ReportedLoss::kScaled;
  EXPECT_EQ(reported_loss(plan, 10.0, 5), 0.1) << "divided by 5 twice and by 4";
}

TEST(LossPlan, AMicroBatchWithoutTargetsDividesByOne) {
  Case c = preset_case("tiny-linear");
  c.recipe.loss_norm = LossNorm::kMicroBatch;
  EXPECT_EQ(loss_scale(plan_loss(c), 0), plan_loss(c).factor);
}

}  // namespace
}  // namespace lockstep
