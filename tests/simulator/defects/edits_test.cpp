// Each edit changes the entries it names and leaves the others alone.
#include "simulator/defects/edits.h"

#include <gtest/gtest.h>

#include "core/config/presets.h"

namespace lockstep::sim {
namespace {

Case case_of(std::int64_t tp, std::int64_t dp) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = tp;
  c.layout.dp = dp;
  c.recipe.loss_norm = LossNorm::kMicroBatch;
  return c;
}

TrialSetup setup_of(std::int64_t tp, std::int64_t dp) { return make_setup(case_of(tp, dp)); }

TrialSetup overlapped_setup_of(std::int64_t tp, std::int64_t dp) {
  Case c = case_of(tp, dp);
  c.recipe.overlap = {"grad"};
  return make_setup(c);
}

TEST(Edits, EachSumOfABucketComesAgainRightAfterItself) {
  TrialSetup setup = setup_of(1, 2);
  sum_buckets_again(setup.plans.finalize);
  EXPECT_EQ(to_text(setup.plans.finalize),
            "finalize.dp_sum.bucket0: sum bucket 0 over dp_cp\n"
            "finalize.dp_sum.bucket0: sum bucket 0 over dp_cp\n"
            "finalize.totals_sum: sum totals over dp_cp\n"
            "finalize.scale: scale factor 0.5\n");
}

TEST(Edits, ASumThatABackwardPassStartedComesAgainAfterItsWait) {
  TrialSetup setup = overlapped_setup_of(1, 2);
  sum_buckets_again(setup.plans.finalize);
  EXPECT_EQ(to_text(setup.plans.finalize),
            "finalize.dp_wait.bucket0: wait for bucket 0\n"
            "finalize.dp_sum.bucket0: sum bucket 0 over dp_cp\n"
            "finalize.totals_sum: sum totals over dp_cp\n"
            "finalize.scale: scale factor 0.5\n");
}

TEST(Edits, ADropOfAnOverlappedSumShowsOnlyWhereThereIsOne) {
  TrialSetup setup = overlapped_setup_of(1, 2);
  const std::string clean = to_text(setup);
  drop_calls(setup, "finalize.dp_sum.");
  EXPECT_EQ(to_text(setup), clean) << "sums start in the backward pass there";
  drop_calls(setup, "backward.dp_sum.");
  EXPECT_EQ(to_text(setup), clean + "port drops backward.dp_sum.*\n");
  TrialSetup later = setup_of(1, 2);
  const std::string clean_later = to_text(later);
  drop_calls(later, "backward.dp_sum.");
  EXPECT_EQ(to_text(later), clean_later);
}

TEST(Edits, RescaleTouchesScalingsOnly) {
  TrialSetup setup = setup_of(1, 2);
  rescale(setup.plans.finalize, 3.0);
  EXPECT_EQ(to_text(setup.plans.finalize),
            "finalize.dp_sum.bucket0: sum bucket 0 over dp_cp\n"
            "finalize.totals_sum: sum totals over dp_cp\n"
            "finalize.scale: scale factor 1.5\n");
}

TEST(Edits, ADropShowsInTheTextOnlyWhereItMeetsALabel) {
  TrialSetup setup = setup_of(1, 2);
  const std::string clean = to_text(setup);
  drop_calls(setup, "finalize.dp_sum.");
  EXPECT_EQ(to_text(setup), clean + "port drops finalize.dp_sum.*\n");
  TrialSetup alone = setup_of(2, 1);
  const std::string clean_alone = to_text(alone);
  drop_calls(alone, "finalize.dp_sum.");
  EXPECT_EQ(to_text(alone), clean_alone);
}

TEST(Edits, ADropOfACallThatNoPlanNamesAlwaysShows) {
  TrialSetup setup = setup_of(2, 1);
  const std::string clean = to_text(setup);
  drop_calls(setup, "backward.copy.");
  EXPECT_EQ(to_text(setup), clean + "port drops backward.copy.*\n");
}

TEST(Edits, AKernelThatIsReplacedShows) {
  TrialSetup setup = setup_of(2, 1);
  const std::string clean = to_text(setup);
  setup.kernels.silu = nullptr;
  EXPECT_EQ(to_text(setup), clean + "kernels are not the device's own\n");
}

TEST(Edits, KernelsOfAnotherDeviceThanTheCpuAreNoEdit) {
  const Case c = case_of(2, 1);
  KernelTable others = make_setup(c).kernels;
  others.silu = nullptr;
  EXPECT_EQ(to_text(make_setup(c, others)), to_text(make_setup(c)));
}

TEST(Edits, ReplaceLeavesAGroupOfOneAlone) {
  const Mapping variant{.name = "variant", .forward = nullptr, .backward = nullptr};
  TrialSetup alone = setup_of(1, 2);
  replace(alone.plans.mappings, MappingKind::kCopy, variant);
  EXPECT_EQ(alone.plans.mappings.of(MappingKind::kCopy).name, "identity");
  TrialSetup setup = setup_of(2, 2);
  replace(setup.plans.mappings, MappingKind::kCopy, variant);
  EXPECT_EQ(setup.plans.mappings.of(MappingKind::kCopy).name, "variant");
  EXPECT_EQ(setup.plans.mappings.of(MappingKind::kReduce).name, "reduce");
}

}  // namespace
}  // namespace lockstep::sim
