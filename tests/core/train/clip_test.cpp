// Clipping: when it bites, by how much, and that it bites nothing else.
#include "core/train/clip.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/config/presets.h"
#include "tests/core/train/two_parameters.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

ClipPlan plan_of(double clip) {
  Recipe recipe = preset_case("tiny-dense").recipe;
  recipe.clip = clip;
  return plan_clip(recipe);
}

TEST(ClipPlan, GoldenTextOfARecipeThatClips) {
  EXPECT_EQ(to_text(plan_of(0.1)), "clip.scale: to norm 0.1, eps 1e-06\n");
}

TEST(ClipPlan, GoldenTextOfARecipeThatDoesNot) { EXPECT_EQ(to_text(plan_of(0.0)), ""); }

class ClipTest : public testing::Test, protected test::OpFixture {
 protected:
  // What gradients of 8 become, of each parameter.
  std::vector<double> clipped(const ClipPlan& plan, double norm) const {
    const ParameterTable table = test::two_parameters(1);
    const GradientBuckets buckets(ops(), test::a_bucket_each(), table);
    buckets.fill_all(8.0, "test.fill");
    clip_grads(plan, buckets, norm);
    return {test::values_of(buckets.main_gradient(test::kCut))[0],
            test::values_of(buckets.main_gradient(test::kWhole))[0]};
  }
};

TEST_F(ClipTest, EveryGradientShrinksByTheLargestNormOverTheNorm) {
  const double expected = 8.0 * (0.1 / (2.0 + 1e-6));
  EXPECT_EQ(clipped(plan_of(0.1), 2.0), (std::vector{expected, expected}));
}

TEST_F(ClipTest, AGradientWithinTheLargestNormStaysBitForBit) {
  EXPECT_EQ(clipped(plan_of(0.1), 0.099), (std::vector{8.0, 8.0}));
}

TEST_F(ClipTest, ANormOfZeroNeverScalesUp) {
  EXPECT_EQ(clipped(plan_of(0.1), 0.0), (std::vector{8.0, 8.0}));
}

TEST_F(ClipTest, ANormThatIsNoNumberDoesNotHideByClipping) {
  EXPECT_EQ(clipped(plan_of(0.1), std::numeric_limits<double>::quiet_NaN()),
            (std::vector{8.0, 8.0}));
}

TEST_F(ClipTest, WithoutAnEntryNothingIsScaled) {
  EXPECT_EQ(clipped(plan_of(0.0), 100.0), (std::vector{8.0, 8.0}));
}

}  // namespace
}  // namespace lockstep
