// Buckets: reverse order, aligned slots, closing sizes, accumulation.
#include "core/train/gradient_buckets.h"

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "core/config/presets.h"
#include "core/ops/elementwise.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::values_of;

ParameterTable three_parameters() {
  return {{.name = "a", .full_shape = {10, 10}},
          {.name = "b", .full_shape = {70}},
          {.name = "c", .full_shape = {64}}};
}

BucketPlan plan_of(std::int64_t bucket_elements) {
  Recipe recipe = preset_case("tiny-linear").recipe;
  recipe.bucket_elements = bucket_elements;
  return plan_buckets(three_parameters(), recipe);
}

TEST(BucketPlan, OneBucketInReverseRegistrationOrder) {
  EXPECT_EQ(to_text(plan_of(0), three_parameters()),
            "bucket0: 320 elements\n"
            "  c at 0\n"
            "  b at 64\n"
            "  a at 192\n");
}

TEST(BucketPlan, ABucketClosesOnceItHoldsEnough) {
  EXPECT_EQ(to_text(plan_of(100), three_parameters()),
            "bucket0: 192 elements\n"
            "  c at 0\n"
            "  b at 64\n"
            "bucket1: 128 elements\n"
            "  a at 0\n");
  EXPECT_EQ(plan_of(1).buckets.size(), 3U);
  EXPECT_EQ(plan_of(64).buckets.size(), 3U) << "c alone is just enough";
  EXPECT_EQ(plan_of(65).buckets.size(), 2U);
}

class GradientBucketsTest : public testing::Test, protected test::OpFixture {};

TEST_F(GradientBucketsTest, GradientsAddUpUntilTheNextStepStarts) {
  const ParameterTable table = three_parameters();
  const GradientBuckets buckets(ops(), plan_of(0), table);
  buckets.fill_all(0.0, "test.zero");
  const Tensor gradient = random({70});
  buckets.accumulate({1}, gradient);
  buckets.accumulate({1}, gradient);
  for (std::int64_t i = 0; i < 70; ++i) {
    EXPECT_EQ(buckets.main_gradient({1}).data<double>()[i], 2.0 * gradient.data<double>()[i]);
  }
  EXPECT_EQ(values_of(buckets.main_gradient({2})), std::vector<double>(64, 0.0));
  buckets.fill_all(0.0, "test.zero");
  EXPECT_EQ(values_of(buckets.bucket({0})), std::vector<double>(320, 0.0));
}

TEST_F(GradientBucketsTest, GradientsOfBf16AddUpInF32) {
  const OpContext bf16{.device = ops().device, .kernels = ops().kernels, .dtype = DType::kBF16};
  const GradientBuckets buckets(bf16, plan_of(0), three_parameters());
  EXPECT_EQ(buckets.bucket({0}).dtype, DType::kF32);
  buckets.fill_all(0.0, "test.zero");
  const Tensor large = new_tensor(bf16, {64}, "test.large");
  const Tensor small = new_tensor(bf16, {64}, "test.small");
  fill(bf16, large, 256.0, "test.large");
  fill(bf16, small, 1.0, "test.small");
  buckets.accumulate({2}, large);
  buckets.accumulate({2}, small);
  EXPECT_EQ(buckets.main_gradient({2}).data<float>()[0], 257.0F) << "256 + 1 is no bf16";
}

TEST_F(GradientBucketsTest, AFillReachesGapsToo) {
  const GradientBuckets buckets(ops(), plan_of(0), three_parameters());
  buckets.fill_all(1.0, "test.fill");
  EXPECT_EQ(values_of(buckets.bucket({0})), std::vector<double>(320, 1.0));
}

TEST_F(GradientBucketsTest, APlanThatLeavesAParameterOutIsFoundAtItsFirstUse) {
  BucketPlan plan = plan_of(1);
  plan.buckets.pop_back();
  const GradientBuckets buckets(ops(), plan, three_parameters());
  EXPECT_THROW(buckets.main_gradient({0}), InternalError);
}

}  // namespace
}  // namespace lockstep
