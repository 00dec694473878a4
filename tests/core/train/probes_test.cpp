// Probes: what true plans say of planted gradients, and how wrong plans give themselves away.
#include "core/train/probes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/config/presets.h"
#include "tests/core/train/two_parameters.h"
#include "tests/support/rank_fixture.h"

namespace lockstep {
namespace {

Recipe recipe_with_seed(std::int64_t seed) {
  Recipe recipe = preset_case("tiny-dense").recipe;
  recipe.seed = seed;
  return recipe;
}

TEST(ProbePlan, GoldenTextOfTwoParameters) {
  EXPECT_EQ(to_text(plan_probes(test::two_parameters(2), recipe_with_seed(1))),
            "probe.ones: all 1\n"
            "probe.single.cut: all 0, 1 at 4 of parameter 0\n"
            "probe.single.whole: all 0, 1 at 1 of parameter 1\n"
            "probe.zeros: all 1, 0 at 4 of parameter 0, 0 at 1 of parameter 1\n");
}

TEST(ProbePlan, GoldenTextOfAModelWithoutCuts) {
  const ParameterTable table{{.name = "whole", .full_shape = {3}}};
  EXPECT_EQ(to_text(plan_probes(table, recipe_with_seed(2))),
            "probe.ones: all 1\n"
            "probe.single.whole: all 0, 1 at 2 of parameter 0\n"
            "probe.zeros: all 1, 0 at 2 of parameter 0\n");
}

TEST(ProbePlan, PlantsByTheSeedAndNeverByTheLayout) {
  const auto text = [](std::int64_t tp, std::int64_t seed) {
    return to_text(plan_probes(test::two_parameters(tp), recipe_with_seed(seed)));
  };
  EXPECT_EQ(text(1, 1), text(4, 1));
  EXPECT_NE(text(1, 1), text(1, 3));
}

std::vector<ProbeResult> probes_on(const Layout& layout,
                                   const CountPlan& norm,
                                   const CountPlan& zeros,
                                   std::int64_t seed = 1) {
  const ParameterTable table = test::two_parameters(layout.tp);
  std::vector<std::vector<ProbeResult>> results(static_cast<std::size_t>(layout.tp * layout.dp));
  const auto report = test::spawn_contexts(layout, [&](const RankContext& context) {
    const GradientBuckets buckets(context.ops, test::a_bucket_each(), table);
    results[static_cast<std::size_t>(context.rank.value)] =
        run_probes(context,
                   plan_probes(table, recipe_with_seed(seed)),
                   {.norm = norm, .zeros = zeros},
                   table,
                   buckets);
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
  for (const std::vector<ProbeResult>& other : results) {
    for (std::size_t i = 0; i < other.size(); ++i) {
      EXPECT_EQ(other[i].norm, results[0][i].norm);
      EXPECT_EQ(other[i].zeros, results[0][i].zeros);
    }
  }
  return results[0];
}

TEST(Probes, OfTruePlansAreExactOnEveryLayoutWhereverTheElementLies) {
  for (const int tp : {1, 2, 4}) {
    for (std::int64_t seed = 0; seed < 12; ++seed) {
      const Layout layout = test::layout_of({.tp = tp, .dp = 2});
      const CountPlan plan = plan_count(test::two_parameters(tp), layout, "count");
      const std::vector<ProbeResult> probes = probes_on(layout, plan, plan, seed);
      ASSERT_EQ(probes.size(), 4U);
      EXPECT_EQ(probes[0].label, "probe.ones");
      EXPECT_EQ(probes[0].norm, std::sqrt(13.0));
      EXPECT_EQ(probes[0].zeros, 0);
      EXPECT_EQ(probes[1].label, "probe.single.cut");
      EXPECT_EQ(probes[1].norm, 1.0);
      EXPECT_EQ(probes[1].zeros, 12);
      EXPECT_EQ(probes[2].label, "probe.single.whole");
      EXPECT_EQ(probes[2].norm, 1.0);
      EXPECT_EQ(probes[2].zeros, 12);
      EXPECT_EQ(probes[3].label, "probe.zeros");
      EXPECT_EQ(probes[3].norm, std::sqrt(11.0));
      EXPECT_EQ(probes[3].zeros, 2);
    }
  }
}

TEST(Probes, ACopyCountedOnEachRankShowsInOnesAndInItsSingle) {
  const Layout layout = test::layout_of({.tp = 2});
  const CountPlan clean = plan_count(test::two_parameters(2), layout, "count");
  CountPlan edited = clean;
  edited.entries[1].copies = {};
  const std::vector<ProbeResult> probes = probes_on(layout, edited, clean);
  EXPECT_EQ(probes[0].norm, std::sqrt(16.0));
  EXPECT_EQ(probes[2].norm, std::sqrt(2.0));
}

TEST(Probes, PaddingThatIsCountedShowsInOnesAndInTheZerosOfASingle) {
  const Layout layout = test::layout_of({.tp = 2});
  const CountPlan clean = plan_count(test::two_parameters(2), layout, "count");
  CountPlan edited = clean;
  edited.entries[0].real = {};
  const std::vector<ProbeResult> probes = probes_on(layout, edited, edited);
  EXPECT_EQ(probes[0].norm, std::sqrt(15.0));
  EXPECT_EQ(probes[1].zeros, 14);
}

TEST(Probes, APartTakenForACopyShowsInTheZeros) {
  const Layout layout = test::layout_of({.tp = 2});
  const CountPlan clean = plan_count(test::two_parameters(2), layout, "count");
  CountPlan edited = clean;
  edited.entries[0].copies = GroupKind::kTp;
  const std::vector<ProbeResult> probes = probes_on(layout, clean, edited);
  EXPECT_EQ(probes[2].zeros, 12 - 4) << "the second rank's two real rows are lost";
}

}  // namespace
}  // namespace lockstep
