// Probes: what true plans say of planted gradients, and how wrong plans give themselves away.
#include "core/train/probes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

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
            "probe.grad_norm.ones: all 1\n"
            "probe.grad_norm.cut: all 0, 1 in parameter 0\n"
            "probe.grad_norm.whole: all 0, 1 in parameter 1\n"
            "probe.grad_norm.single.cut: all 0, 1 at 4 of parameter 0\n"
            "probe.grad_norm.single.whole: all 0, 1 at 1 of parameter 1\n"
            "probe.grad_zeros.cut: all 1, 0 in parameter 0\n"
            "probe.grad_zeros.whole: all 1, 0 in parameter 1\n"
            "probe.grad_zeros.planted: all 1, 0 at 4 of parameter 0, 0 at 1 of parameter 1\n"
            "probe.param_norm.ones: all 1\n"
            "probe.param_norm.cut: all 0, 1 in parameter 0\n"
            "probe.param_norm.whole: all 0, 1 in parameter 1\n");
}

TEST(ProbePlan, GoldenTextOfAModelWithoutCuts) {
  const ParameterTable table{{.name = "whole", .full_shape = {3}}};
  EXPECT_EQ(to_text(plan_probes(table, recipe_with_seed(2))),
            "probe.grad_norm.ones: all 1\n"
            "probe.grad_norm.whole: all 0, 1 in parameter 0\n"
            "probe.grad_norm.single.whole: all 0, 1 at 2 of parameter 0\n"
            "probe.grad_zeros.whole: all 1, 0 in parameter 0\n"
            "probe.grad_zeros.planted: all 1, 0 at 2 of parameter 0\n"
            "probe.param_norm.ones: all 1\n"
            "probe.param_norm.whole: all 0, 1 in parameter 0\n");
}

TEST(ProbePlan, PlantsByTheSeedAndNeverByTheLayout) {
  const auto text = [](std::int64_t tp, std::int64_t seed) {
    return to_text(plan_probes(test::two_parameters(tp), recipe_with_seed(seed)));
  };
  EXPECT_EQ(text(1, 1), text(4, 1));
  EXPECT_NE(text(1, 1), text(1, 3));
}

CountPlans all_by(const CountPlan& plan) {
  return {.gradient_norm = plan, .gradient_zeros = plan, .parameter_norm = plan};
}

// By label; the same on every rank.
std::map<std::string, double> probes_on(const Layout& layout,
                                        const CountPlans& plans,
                                        std::int64_t seed = 1) {
  const ParameterTable table = test::two_parameters(layout.tp);
  std::vector<std::map<std::string, double>> results(
      static_cast<std::size_t>(layout.tp * layout.dp));
  const auto report = test::spawn_contexts(layout, [&](const RankContext& context) {
    const GradientBuckets buckets(context.ops, test::a_bucket_each(), table);
    const ProbePlan plan = plan_probes(table, recipe_with_seed(seed));
    for (const ProbeResult& probe : run_probes(context, plan, plans, table, buckets)) {
      results[static_cast<std::size_t>(context.rank.value)][probe.label] = probe.value;
    }
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
  for (const std::map<std::string, double>& other : results) EXPECT_EQ(other, results[0]);
  return results[0];
}

// The parameter that is cut has 10 of 13 elements in all.
TEST(Probes, OfTruePlansAreExactOnEveryLayoutWhereverTheElementLies) {
  for (const int tp : {1, 2, 4}) {
    for (std::int64_t seed = 0; seed < 12; ++seed) {
      const Layout layout = test::layout_of({.tp = tp, .dp = 2});
      const CountPlan plan = plan_count(test::two_parameters(tp), layout, "count");
      const std::map<std::string, double> expected = {{"probe.grad_norm.ones", std::sqrt(13.0)},
                                                      {"probe.grad_norm.cut", std::sqrt(10.0)},
                                                      {"probe.grad_norm.whole", std::sqrt(3.0)},
                                                      {"probe.grad_norm.single.cut", 1.0},
                                                      {"probe.grad_norm.single.whole", 1.0},
                                                      {"probe.grad_zeros.cut", 10.0},
                                                      {"probe.grad_zeros.whole", 3.0},
                                                      {"probe.grad_zeros.planted", 2.0},
                                                      {"probe.param_norm.ones", std::sqrt(13.0)},
                                                      {"probe.param_norm.cut", std::sqrt(10.0)},
                                                      {"probe.param_norm.whole", std::sqrt(3.0)}};
      EXPECT_EQ(probes_on(layout, all_by(plan), seed), expected) << "tp " << tp;
    }
  }
}

struct Edited {
  CountPlan clean;
  CountPlan edited;
};

Edited edited_plans(const Layout& layout, const std::function<void(CountPlan&)>& edit) {
  const CountPlan clean = plan_count(test::two_parameters(layout.tp), layout, "count");
  CountPlan edited = clean;
  edit(edited);
  return {.clean = clean, .edited = edited};
}

// Which probes say something else than with true plans.
std::vector<std::string> changed(const Layout& layout,
                                 const CountPlan& clean,
                                 const CountPlans& plans) {
  const std::map<std::string, double> expected = probes_on(layout, all_by(clean));
  std::vector<std::string> labels;
  for (const auto& [label, value] : probes_on(layout, plans)) {
    if (value != expected.at(label)) labels.push_back(label);
  }
  return labels;
}

using Labels = std::vector<std::string>;

TEST(Probes, ACopyCountedOnEachRankShowsInItsOwnProbesOnly) {
  const Layout layout = test::layout_of({.tp = 2});
  const Edited plans = edited_plans(layout, [](CountPlan& plan) { plan.entries[1].copies = {}; });
  EXPECT_EQ(
      changed(layout,
              plans.clean,
              {.gradient_norm = plans.edited,
               .gradient_zeros = plans.clean,
               .parameter_norm = plans.clean}),
      (Labels{"probe.grad_norm.ones", "probe.grad_norm.single.whole", "probe.grad_norm.whole"}));
}

TEST(Probes, PaddingThatIsCountedShowsInTheProbesOfItsParameter) {
  const Layout layout = test::layout_of({.tp = 2});
  const Edited plans = edited_plans(layout, [](CountPlan& plan) { plan.entries[0].real = {}; });
  EXPECT_EQ(changed(layout, plans.clean, all_by(plans.edited)),
            (Labels{"probe.grad_norm.cut",
                    "probe.grad_norm.ones",
                    "probe.grad_zeros.cut",
                    "probe.param_norm.cut",
                    "probe.param_norm.ones"}));
}

TEST(Probes, APartTakenForACopyShowsInThePlanThatTakesItSo) {
  const Layout layout = test::layout_of({.tp = 2});
  const Edited plans =
      edited_plans(layout, [](CountPlan& plan) { plan.entries[0].copies = GroupKind::kTp; });
  EXPECT_EQ(changed(layout,
                    plans.clean,
                    {.gradient_norm = plans.clean,
                     .gradient_zeros = plans.edited,
                     .parameter_norm = plans.clean}),
            (Labels{"probe.grad_zeros.cut"}));
  EXPECT_EQ(changed(layout,
                    plans.clean,
                    {.gradient_norm = plans.clean,
                     .gradient_zeros = plans.clean,
                     .parameter_norm = plans.edited}),
            (Labels{"probe.param_norm.cut", "probe.param_norm.ones"}));
}

}  // namespace
}  // namespace lockstep
