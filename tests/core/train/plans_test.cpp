// All plans of a case as one text: equal for equal behaviour, different where a field matters.
#include "core/train/plans.h"

#include <gtest/gtest.h>

#include "core/config/presets.h"

namespace lockstep {
namespace {

std::string text_of(const Case& c) { return to_text(make_plans(c)); }

TEST(Plans, AreAPureFunctionOfTheCase) {
  const Case c = preset_case("tiny-linear");
  EXPECT_EQ(text_of(c), text_of(c));
}

TEST(Plans, EachDecidingFieldChangesTheText) {
  const Case base = preset_case("tiny-linear");
  const auto changes = [&](auto change) {
    Case c = base;
    change(c);
    return text_of(c) != text_of(base);
  };
  EXPECT_TRUE(changes([](Case& c) { c.layout.tp = 2; }));
  EXPECT_TRUE(changes([](Case& c) { c.layout.dp = 2; }));
  EXPECT_TRUE(changes([](Case& c) { c.recipe.seed += 1; }));
  EXPECT_TRUE(changes([](Case& c) { c.recipe.lr *= 2.0; }));
  EXPECT_TRUE(changes([](Case& c) { c.recipe.bucket_elements = 1; }));
  EXPECT_TRUE(changes([](Case& c) {
    c.recipe.loss_norm =
        c.recipe.loss_norm == LossNorm::kToken ? LossNorm::kMicroBatch : LossNorm::kToken;
  }));
  EXPECT_FALSE(changes([](Case& c) { c.recipe.schedule_seed += 1; }));
}

}  // namespace
}  // namespace lockstep
