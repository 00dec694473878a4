// Each edit changes the entries it names and leaves the others alone.
#include "simulator/defects/edits.h"

#include <gtest/gtest.h>

#include "core/config/presets.h"

namespace lockstep::sim {
namespace {

TrialSetup setup_of(std::int64_t tp, std::int64_t dp) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = tp;
  c.layout.dp = dp;
  c.recipe.loss_norm = LossNorm::kMicroBatch;
  return make_setup(c);
}

TEST(Edits, DuplicateRepeatsEachEntryOfTheActionInPlace) {
  TrialSetup setup = setup_of(1, 2);
  duplicate(setup.plans.finalize, FinalizeAction::kSumBucket);
  EXPECT_EQ(to_text(setup.plans.finalize),
            "finalize.dp_sum.bucket0: sum bucket 0 over dp_cp\n"
            "finalize.dp_sum.bucket0: sum bucket 0 over dp_cp\n"
            "finalize.totals_sum: sum totals over dp_cp\n"
            "finalize.scale: scale factor 0.5\n");
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
