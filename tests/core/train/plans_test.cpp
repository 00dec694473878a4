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
  EXPECT_TRUE(changes([](Case& c) { c.recipe.optimizer = Optimizer::kAdamW; }));
  EXPECT_TRUE(changes([](Case& c) { c.recipe.dtype = Precision::kBF16; }));
  EXPECT_TRUE(changes([](Case& c) { c.recipe.weight_decay = 0.5; }));
  EXPECT_TRUE(changes([](Case& c) { c.recipe.clip = 0.5; }));
  EXPECT_TRUE(changes([](Case& c) { c.recipe.label_smoothing = 0.1; }));
  EXPECT_TRUE(changes([](Case& c) { c.model.bias = true; }));
  EXPECT_FALSE(changes([](Case& c) { c.recipe.schedule_seed += 1; }));
  EXPECT_FALSE(changes([](Case& c) { c.recipe.step_api = StepApi::kSplit; }))
      << "one step, two APIs";
  EXPECT_FALSE(changes([](Case& c) { c.recipe.overlap = {"grad"}; })) << "without data ranks";
}

TEST(Plans, EachFieldOfAnEntryThatActsShowsInTheText) {
  Case c = preset_case("tiny-dense");
  c.layout.tp = 2;
  c.layout.dp = 3;
  c.recipe.overlap = {"grad"};
  c.recipe.bucket_elements = 3000;
  Plans plans = make_plans(c);
  plans.finalize.entries.push_back({.label = "finalize.tp_sum.test",
                                    .action = FinalizeAction::kSumParameter,
                                    .group = GroupKind::kTp,
                                    .parameter = {0}});
  const auto shows = [&](auto edit) {
    Plans edited = plans;
    edit(edited);
    return to_text(edited) != to_text(plans);
  };
  EXPECT_TRUE(shows([](Plans& p) { p.init.entries[1].kind = InitKind::kWeight; }));
  EXPECT_TRUE(shows([](Plans& p) { p.init.entries[1].parameter = {4}; }));
  EXPECT_TRUE(shows([](Plans& p) { p.init.entries[2].fan_in += 1; }));
  EXPECT_TRUE(shows([](Plans& p) { p.init.entries[2].cut->axis = Axis::kDp; }));
  EXPECT_TRUE(shows([](Plans& p) { p.batch.micro_batch += 1; }));
  EXPECT_TRUE(shows([](Plans& p) { p.batch.dp_stride = 0; }));
  EXPECT_TRUE(shows([](Plans& p) { p.buckets.buckets[0].slots[0].offset += 64; }));
  EXPECT_TRUE(shows([](Plans& p) { p.activations.pop_back(); }));
  EXPECT_TRUE(shows([](Plans& p) { p.overlap.micro_batch -= 1; }));
  EXPECT_TRUE(shows([](Plans& p) { p.overlap.sums[0].bucket = {1}; }));
  EXPECT_TRUE(shows([](Plans& p) { p.overlap.sums[0].group = GroupKind::kTp; }));
  EXPECT_TRUE(shows([](Plans& p) { p.overlap.sums[0].after.pop_back(); }));
  EXPECT_TRUE(shows([](Plans& p) { p.finalize.entries[0].bucket = {1}; }));
  EXPECT_TRUE(shows([](Plans& p) { p.finalize.entries.back().group = GroupKind::kDp; }));
  EXPECT_TRUE(shows([](Plans& p) { p.finalize.entries.back().parameter = {1}; }));
  EXPECT_TRUE(shows([](Plans& p) { p.gradient_norm.entries[1].copies = {}; }));
  EXPECT_TRUE(shows([](Plans& p) { p.gradient_norm.entries[0].real->full_size += 1; }));
  EXPECT_TRUE(shows([](Plans& p) { p.gradient_norm.entries[0].parameter = {1}; }));
  EXPECT_TRUE(shows([](Plans& p) { p.gradient_norm.sums[0].group = GroupKind::kWorld; }));
  EXPECT_TRUE(shows([](Plans& p) { p.gradient_zeros.sums.clear(); }));
  EXPECT_TRUE(shows([](Plans& p) { p.parameter_norm.entries.pop_back(); }));
  EXPECT_TRUE(shows([](Plans& p) { p.clip.entries[0].max_norm *= 2.0; }));
  EXPECT_TRUE(shows([](Plans& p) { p.clip.entries[0].eps = 0.0; }));
  EXPECT_TRUE(shows([](Plans& p) { p.clip.entries.clear(); }));
  EXPECT_TRUE(shows([](Plans& p) { p.update.entries[0].parameter = {1}; }));
  EXPECT_TRUE(shows([](Plans& p) { p.update.entries[0].lr *= 2.0; }));
  EXPECT_TRUE(shows([](Plans& p) { p.update.entries[0].weight_decay = 0.0; }));
  EXPECT_TRUE(shows([](Plans& p) { p.update.entries[0].beta1 = 0.0; }));
  EXPECT_TRUE(shows([](Plans& p) { p.update.entries[0].beta2 = 0.0; }));
  EXPECT_TRUE(shows([](Plans& p) { p.update.entries[0].eps = 0.0; }));
  EXPECT_TRUE(shows([](Plans& p) { p.update.first_update = 0; }));
  EXPECT_TRUE(shows([](Plans& p) { p.update.masters = true; }));
  EXPECT_TRUE(shows([](Plans& p) { p.probes.entries[0].background = 0.0; }));
  EXPECT_TRUE(shows([](Plans& p) { p.probes.entries[1].planted[0].element += 1; }));
}

}  // namespace
}  // namespace lockstep
