// From a spec to named cases: order, names, filters, rows, samples and overrides.
#include "matrix/spec/expand.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/base/errors.h"
#include "core/config/case_json.h"
#include "matrix/spec/permutation.h"
#include "matrix/spec/select.h"

namespace lockstep::matrix::test {
namespace {

Spec spec_of(const std::string& lines) {
  const std::string head = "lockstep: 1\nname: s\nmodel: {preset: tiny-linear}\n";
  return parse_spec(head + lines, "s.yaml", {});
}

std::vector<NamedCase> cases_of(const std::string& lines) { return expand(spec_of(lines)); }

std::vector<std::string> names_of(const std::vector<NamedCase>& cases) {
  std::vector<std::string> names;
  for (const NamedCase& named : cases) names.push_back(named.name);
  return names;
}

std::vector<std::string> names_of(const std::string& lines) { return names_of(cases_of(lines)); }

using Names = std::vector<std::string>;

TEST(ExpandTest, TheLastAxisVariesFastest) {
  EXPECT_EQ(names_of("axes: {tp: [1, 2], dp: [1, 3]}\n"),
            (Names{"tp1.dp1", "tp1.dp3", "tp2.dp1", "tp2.dp3"}));
}

TEST(ExpandTest, NamesFollowTheSpecsOrderAndTheKindOfValue) {
  EXPECT_EQ(names_of("axes: {mask: [uneven], tp: [2], sp: [false], lr: [0.1, 1e-5]}\n"),
            (Names{"uneven.tp2.lr0.1", "uneven.tp2.lr1e-05"}));
}

TEST(ExpandTest, AChoiceOfTwoAxesIsNamedWithItsAxis) {
  // Both mask and schedule have a value none.
  EXPECT_EQ(names_of("axes: {mask: [none, full], schedule: [none]}\n"),
            (Names{"mask=none.schedule=none", "full.schedule=none"}));
}

TEST(ExpandTest, ASpecWithoutAxesIsOneCase) {
  EXPECT_EQ(names_of("recipe: {steps: 1}\n"), Names{"base"});
  EXPECT_EQ(names_of("axes: {sp: [false]}\n"), Names{"base"});
}

TEST(ExpandTest, ASpecThatNamesNoModelStartsFromTheDefaults) {
  const std::vector<NamedCase> cases =
      expand(parse_spec("lockstep: 1\nname: s\naxes: {tp: [2]}\n", "s.yaml", {}));
  ASSERT_EQ(cases.size(), 1U);
  Case expected = default_case();
  expected.layout.tp = 2;
  EXPECT_EQ(case_to_json(cases[0].c), case_to_json(expected));
}

TEST(ExpandTest, CasesHoldTheirValuesOverRecipeAndPreset) {
  const std::vector<NamedCase> cases = cases_of("recipe: {steps: 1}\naxes: {tp: [2], dp: [3]}\n");
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_EQ(cases[0].c.layout.tp, 2);
  EXPECT_EQ(cases[0].c.layout.dp, 3);
  EXPECT_EQ(cases[0].c.recipe.steps, 1);
  EXPECT_EQ(cases[0].c.recipe.seq, 8);
  EXPECT_EQ(cases[0].invalid_reason, "");
}

TEST(ExpandTest, LayoutsThatCannotExistStayWithTheirReason) {
  const std::vector<NamedCase> cases = cases_of("axes: {tp: [1, 7]}\n");
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[0].invalid_reason, "");
  EXPECT_EQ(cases[1].invalid_reason, "intermediate_size 48 is not divisible by tp 7");
}

TEST(ExpandTest, WhereAndExcludeLeaveOutSilently) {
  EXPECT_EQ(names_of("axes: {tp: [1, 2, 4], dp: [1, 2]}\nwhere: [world <= 4]\n"
                     "exclude: [{tp: 1, dp: 2}, {tp: 4}]\n"),
            (Names{"tp1.dp1", "tp2.dp1", "tp2.dp2"}));
}

TEST(ExpandTest, WhereIsAppliedBeforeTheWorldIsTooLarge) {
  EXPECT_EQ(names_of("axes: {tp: [1, 4096], dp: [1, 2]}\nwhere: [world <= 2]\n"),
            (Names{"tp1.dp1", "tp1.dp2"}));
}

TEST(ExpandTest, IncludeRowsAreWholeCasesOverTheRecipe) {
  const std::vector<NamedCase> cases = cases_of(
      "recipe: {mask: single}\naxes: {tp: [1, 2], mask: [full]}\n"
      "include: [{tp: 8, dp: 2}, {tp: 2, mask: full}, {tp: 16}]\nwhere: [world <= 16]\n"
      "exclude: [{tp: 8}]\n");
  EXPECT_EQ(names_of(cases), (Names{"tp1.full", "tp2.full", "tp8.single.dp2", "tp16.single"}));
  EXPECT_EQ(cases[2].c.recipe.mask, Mask::kSingle);
  EXPECT_EQ(cases[2].c.layout.dp, 2);
}

TEST(ExpandTest, WhereIsAppliedToIncludeRowsToo) {
  EXPECT_EQ(names_of("axes: {tp: [1]}\ninclude: [{tp: 8}, {tp: 4}]\nwhere: [tp <= 4]\n"),
            (Names{"tp1", "tp4"}));
}

TEST(ExpandTest, MicroBatchesGiveTheGlobalBatch) {
  const std::vector<NamedCase> cases =
      cases_of("axes: {num_micro_batches: [1, 4], dp: [1, 3], micro_batch: [2]}\n");
  EXPECT_EQ(names_of(cases),
            (Names{"num_micro_batches1.dp1.micro_batch2",
                   "num_micro_batches1.dp3.micro_batch2",
                   "num_micro_batches4.dp1.micro_batch2",
                   "num_micro_batches4.dp3.micro_batch2"}));
  EXPECT_EQ(cases[3].c.recipe.global_batch, 24);
  EXPECT_EQ(num_micro_batches(cases[3].c), 4);
}

TEST(ExpandTest, MicroBatchesOfTheRecipeFollowEachLayout) {
  const std::vector<NamedCase> cases =
      cases_of("recipe: {num_micro_batches: 4}\naxes: {dp: [1, 3]}\ninclude: [{dp: 2}]\n");
  ASSERT_EQ(cases.size(), 3U);
  EXPECT_EQ(cases[0].c.recipe.global_batch, 4);
  EXPECT_EQ(cases[1].c.recipe.global_batch, 12);
  EXPECT_EQ(cases[2].c.recipe.global_batch, 8);
}

TEST(ExpandTest, ARowMayGiveTheBatchTheOtherWay) {
  const std::vector<NamedCase> cases =
      cases_of("axes: {num_micro_batches: [2], dp: [1]}\ninclude: [{global_batch: 7}]\n");
  EXPECT_EQ(names_of(cases), (Names{"num_micro_batches2.dp1", "dp1.global_batch7"}));
  EXPECT_EQ(cases[1].c.recipe.global_batch, 7);
}

TEST(ExpandTest, ThePresetCanBeAnAxis) {
  const std::vector<NamedCase> cases =
      expand(parse_spec("lockstep: 1\nname: s\naxes: {preset: [tiny-linear], tp: [2]}\n"
                        "recipe: {steps: 1}\n",
                        "s.yaml",
                        {}));
  EXPECT_EQ(names_of(cases), Names{"tiny-linear.tp2"});
  EXPECT_EQ(cases[0].c.recipe.seq, 8);
  EXPECT_EQ(cases[0].c.recipe.steps, 1);
}

TEST(SampleTest, PicksDistinctCasesInTheOrderOfTheProduct) {
  const std::string axes = "axes: {tp: [1, 2, 3, 4, 6, 8], dp: [1, 2, 3, 4, 6, 12]}\n";
  const Names all = names_of(axes);
  const Names some = names_of(axes + "expand: {sample: 10, seed: 7}\n");
  EXPECT_EQ(some.size(), 10U);
  auto place = all.begin();
  for (const std::string& name : some) {
    place = std::find(place, all.end(), name);
    ASSERT_NE(place, all.end()) << name;
    ++place;
  }
}

TEST(SampleTest, TheSeedDecides) {
  const std::string axes = "axes: {tp: [1, 2, 3, 4, 6, 8], dp: [1, 2, 3, 4, 6, 12]}\n";
  EXPECT_EQ(names_of(axes + "expand: {sample: 10, seed: 7}\n"),
            names_of(axes + "expand: {sample: 10, seed: 7}\n"));
  EXPECT_NE(names_of(axes + "expand: {sample: 10, seed: 7}\n"),
            names_of(axes + "expand: {sample: 10, seed: 8}\n"));
}

TEST(SampleTest, DrawsOnlyFromWhatWhereLeaves) {
  const std::string text =
      "axes: {tp: [1, 2, 3, 4, 6, 8], dp: [1, 2, 3, 4, 6, 12]}\nwhere: [world == 12]\n";
  const Names all = names_of(text);
  EXPECT_EQ(names_of(text + "expand: {sample: 3}\n").size(), 3U);
  EXPECT_EQ(names_of(text + "expand: {sample: 1000}\n"), all);
}

TEST(SampleTest, AHugeProductIsSampledWithoutListingIt) {
  std::string list = "[0";
  for (int i = 1; i < 4000; ++i) list += "," + std::to_string(i);
  list += "]";
  const std::vector<NamedCase> cases = cases_of("axes: {seed: &s " + list +
                                                ", schedule_seed: *s, bucket_elements: *s}\n"
                                                "expand: {sample: 50}\n");
  EXPECT_EQ(cases.size(), 50U);
  std::set<std::string> ids;
  for (const NamedCase& named : cases) ids.insert(case_id(named.c));
  EXPECT_EQ(ids.size(), 50U);
}

TEST(PermutationTest, VisitsEachEntryOnce) {
  for (const std::uint64_t size : {1U, 2U, 3U, 5U, 16U, 17U, 1000U}) {
    const Permutation order(size, 3);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < size; ++i) {
      EXPECT_LT(order.at(i), size);
      seen.insert(order.at(i));
    }
    EXPECT_EQ(seen.size(), size);
  }
}

TEST(OverrideTest, ReplacesTheBaseAnAxisAndRows) {
  Spec spec = spec_of(
      "recipe: {steps: 2}\naxes: {tp: [1, 2, 4], dp: [1, 2]}\n"
      "include: [{tp: 8, steps: 3}]\n");
  override_field(spec, "steps=1");
  override_field(spec, "tp=2");
  const std::vector<NamedCase> cases = expand(spec);
  EXPECT_EQ(names_of(cases), (Names{"tp2.dp1", "tp2.dp2", "tp2.dp1.steps1"}));
  for (const NamedCase& named : cases) EXPECT_EQ(named.c.recipe.steps, 1);
}

TEST(OverrideTest, GivesTheBatchInTheOtherWay) {
  Spec spec = spec_of("recipe: {global_batch: 24}\naxes: {dp: [3]}\n");
  override_field(spec, "num_micro_batches=2");
  EXPECT_EQ(expand(spec)[0].c.recipe.global_batch, 6);
  override_field(spec, "global_batch=12");
  EXPECT_EQ(expand(spec)[0].c.recipe.global_batch, 12);
}

std::string override_error(const std::string& assignment) {
  Spec spec = spec_of("axes: {num_micro_batches: [1]}\n");
  try {
    override_field(spec, assignment);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(OverrideTest, MistakesAreNamedWithTheAssignment) {
  EXPECT_EQ(override_error("tp"), "--set tp: expected KEY=VALUE, as in --set steps=1");
  EXPECT_EQ(override_error("=1"), "--set =1: expected KEY=VALUE, as in --set steps=1");
  EXPECT_EQ(override_error("tq=1"), "--set tq=1: unknown field 'tq'; did you mean 'tp'?");
  EXPECT_EQ(override_error("tp=two"),
            "--set tp=two: tp: expected an integer from 1 to 4096, got 'two'");
  EXPECT_EQ(override_error("tp="),
            "--set tp=: tp: expected an integer from 1 to 4096, got nothing");
  EXPECT_EQ(override_error("zero=1"), "--set zero=1: zero: 1 is not built yet; built: 0");
  EXPECT_EQ(override_error("global_batch=12"),
            "--set global_batch=12: the spec varies num_micro_batches; set that instead");
}

std::string shard_error(const std::string& text) {
  try {
    parse_shard(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(SelectTest, ShardsAreCountedFromOne) {
  EXPECT_EQ(parse_shard("2/5").index, 2);
  EXPECT_EQ(parse_shard("2/5").count, 5);
  for (const char* bad :
       {"5/3", "0/3", "a/b", "1", "1/", "/2", "1/2/3", "-1/2", "", "1/0", "1 /2"}) {
    EXPECT_EQ(
        shard_error(bad),
        std::string("--shard: expected I/N with I from 1 to N, as in 2/5, got '") + bad + "'");
  }
}

TEST(SelectTest, ShardsPartitionTheCases) {
  const std::vector<NamedCase> cases =
      cases_of("axes: {tp: [1, 2, 3, 4, 6, 8], dp: [1, 2, 3, 4, 6, 12]}\n");
  std::set<std::string> seen;
  for (std::int64_t i = 1; i <= 3; ++i) {
    const std::vector<NamedCase> part =
        select(cases, {.only = {}, .shard = Shard{.index = i, .count = 3}, .limit = {}});
    EXPECT_GT(part.size(), 4U);
    for (const NamedCase& named : part) EXPECT_TRUE(seen.insert(named.name).second);
  }
  EXPECT_EQ(seen.size(), cases.size());
}

TEST(SelectTest, OnlyAndLimitKeepTheOrder) {
  const std::vector<NamedCase> cases = cases_of("axes: {tp: [1, 2, 4], dp: [1, 2]}\n");
  const Selection two{.only = "dp == 2", .shard = {}, .limit = 2};
  EXPECT_EQ(names_of(select(cases, two)), (Names{"tp1.dp2", "tp2.dp2"}));
  const Selection many{.only = {}, .shard = {}, .limit = 100};
  EXPECT_EQ(select(cases, many).size(), 6U);
}

std::string select_error(const Selection& selection) {
  try {
    select(cases_of("axes: {tp: [1, 2]}\n"), selection);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(SelectTest, ABadExpressionNamesItsColumn) {
  EXPECT_EQ(select_error({.only = "tp > 1 and dpp == 2", .shard = {}, .limit = {}}),
            "--only: column 12: unknown field 'dpp'; did you mean 'dp'?, in 'tp > 1 and dpp == 2'");
  EXPECT_EQ(select_error({.only = "4 / (tp - 1) > 1", .shard = {}, .limit = {}}),
            "--only: column 6: division by zero, in '4 / (tp - 1) > 1'");
  EXPECT_EQ(select_error({.only = {}, .shard = {}, .limit = 0}),
            "--limit: expected an integer of at least 1, got 0");
}

}  // namespace
}  // namespace lockstep::matrix::test
