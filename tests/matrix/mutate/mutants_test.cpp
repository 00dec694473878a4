// The planned runs: their names, their order, and what is known of them before they run.
#include "matrix/mutate/mutants.h"

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "core/config/case_json.h"
#include "tests/matrix/sweep/sample_results.h"

namespace lockstep::test {
namespace {

using matrix::MutationPlan;
using matrix::NamedCase;

const char* const kMissing = "B27-dp-reduction-missing";
const char* const kTwice = "T21-dp-reduction-twice";

NamedCase case_of(const std::string& name, std::int64_t dp) {
  NamedCase one{.name = name, .c = sample_case(1), .invalid_reason = ""};
  one.c.layout.dp = dp;
  return one;
}

MutationPlan planned(const std::vector<NamedCase>& cases) {
  return matrix::plan_mutation(cases, {sim::find_defect(kMissing), sim::find_defect(kTwice)});
}

TEST(PlanMutation, PutsEachCaseBeforeItsMutants) {
  const MutationPlan plan = planned({case_of("dp1", 1), case_of("dp3", 3)});
  std::vector<std::string> names;
  for (const NamedCase& run : plan.runs) names.push_back(run.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"dp1",
                                      "dp1+B27-dp-reduction-missing",
                                      "dp1+T21-dp-reduction-twice",
                                      "dp3",
                                      "dp3+B27-dp-reduction-missing",
                                      "dp3+T21-dp-reduction-twice"}));
  EXPECT_TRUE(plan.runs[3].c.defects.empty());
  EXPECT_EQ(plan.runs[5].c.defects, std::vector<std::string>{kTwice});
  EXPECT_EQ(plan.roles[5].clean, 3U);
  EXPECT_EQ(plan.roles[5].row, 1U);
  EXPECT_FALSE(plan.roles[3].row.has_value());
}

TEST(PlanMutation, ReadsFromTextAndConditionWhatAnEditWillDo) {
  const MutationPlan plan = planned({case_of("dp1", 1), case_of("dp3", 3)});
  EXPECT_TRUE(plan.roles[1].traits.is_unchanged) << "nothing is summed over one rank";
  EXPECT_FALSE(plan.roles[1].traits.is_visible);
  EXPECT_FALSE(plan.roles[4].traits.is_unchanged);
  EXPECT_TRUE(plan.roles[4].traits.is_visible);
}

TEST(PlanMutation, LeavesInvalidCasesWithoutMutants) {
  NamedCase invalid = case_of("dp5", 5);
  invalid.invalid_reason = "global_batch 12 is not divisible";
  const MutationPlan plan = planned({invalid, case_of("dp3", 3)});
  ASSERT_EQ(plan.runs.size(), 4U);
  EXPECT_EQ(plan.runs[0].name, "dp5");
  EXPECT_EQ(plan.runs[1].name, "dp3");
}

TEST(PlanMutation, SharesTheReferenceOfACaseWithItsMutants) {
  const MutationPlan plan = planned({case_of("dp1", 1), case_of("dp3", 3)});
  const std::string key = reference_key(plan.runs[0].c);
  for (const NamedCase& run : plan.runs) EXPECT_EQ(reference_key(run.c), key) << run.name;
}

TEST(PlanMutation, RefusesMoreRunsThanItTakes) {
  const std::vector<NamedCase> cases(matrix::kMaxMutationRuns / 3 + 1, case_of("dp1", 1));
  try {
    planned(cases);
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()),
              "333334 cases with 2 defects are 1000002 runs, more than 1000000; use --limit, "
              "--only or --shard");
  }
}

}  // namespace
}  // namespace lockstep::test
