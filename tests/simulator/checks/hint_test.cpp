// Ratios are found and explained by every product of at most two sizes that equals them.
#include "simulator/checks/hint.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/config/presets.h"

namespace lockstep::test {
namespace {

using sim::explain_ratio;
using sim::hint_of;
using sim::HintTolerance;
using sim::NamedSize;
using Values = std::vector<double>;

const std::vector<NamedSize> kSizes = {
    {.name = "tp", .size = 2}, {.name = "dp", .size = 3}, {.name = "num_micro_batches", .size = 4}};

TEST(ExplainRatio, NamesASizeAndItsInverse) {
  EXPECT_EQ(explain_ratio(3.0, kSizes), "x3 = dp");
  EXPECT_EQ(explain_ratio(1.0 / 3.0, kSizes), "x0.333333 = 1/dp");
}

TEST(ExplainRatio, NamesProductsAndQuotientsOfTwo) {
  EXPECT_EQ(explain_ratio(6.0, kSizes), "x6 = tp*dp");
  EXPECT_EQ(explain_ratio(1.0 / 12.0, kSizes), "x0.0833333 = 1/(dp*num_micro_batches)");
  EXPECT_EQ(explain_ratio(1.5, kSizes), "x1.5 = dp/tp");
  EXPECT_EQ(explain_ratio(2.0 / 3.0, kSizes), "x0.666667 = tp/dp");
}

TEST(ExplainRatio, NamesEveryExplanation) {
  // With 4 micro-batches tp/num_micro_batches is 0.5 as well, and is no group's size.
  EXPECT_EQ(explain_ratio(0.5, kSizes), "x0.5 = 1/tp");
  const std::vector<NamedSize> equal = {{.name = "tp", .size = 2}, {.name = "dp", .size = 2}};
  EXPECT_EQ(explain_ratio(0.5, equal), "x0.5 = 1/tp or 1/dp");
}

TEST(ExplainRatio, NeverLeavesTheNumberOfMicroBatchesOutWhereItIsTheFactor) {
  const std::vector<NamedSize> sizes = {{.name = "tp", .size = 4},
                                        {.name = "dp", .size = 3},
                                        {.name = "num_micro_batches", .size = 4}};
  EXPECT_EQ(explain_ratio(0.25, sizes), "x0.25 = 1/tp or 1/num_micro_batches");
  EXPECT_EQ(explain_ratio(1.0 / 12.0, sizes), "x0.0833333 = 1/(tp*dp) or 1/(dp*num_micro_batches)");
  EXPECT_EQ(explain_ratio(0.75, sizes), "x0.75 = dp/tp");
  EXPECT_EQ(explain_ratio(2.0, kSizes), "x2 = tp") << "not num_micro_batches/tp";
  EXPECT_EQ(explain_ratio(0.75, kSizes), "x0.75") << "nor dp/num_micro_batches alone";
}

TEST(ExplainRatio, PrintsARatioAloneThatNothingEquals) {
  EXPECT_EQ(explain_ratio(0.731, kSizes), "x0.731");
  EXPECT_EQ(explain_ratio(3.0 + 1e-8, kSizes), "x3");
  EXPECT_EQ(explain_ratio(-1.0, kSizes), "x-1");
}

TEST(HintOf, FindsTheRatioOfScaledValues) {
  const Values reference = {1.0, -2.0, 0.5};
  EXPECT_EQ(hint_of({.got = Values{3.0, -6.0, 1.5}, .reference = reference}, kSizes), "x3 = dp");
}

TEST(HintOf, IsEmptyWhereNoRatioExplainsTheValues) {
  const Values reference = {1.0, -2.0, 0.5};
  EXPECT_EQ(hint_of({.got = Values{3.0, -6.0, 1.6}, .reference = reference}, kSizes), "");
}

TEST(HintOf, IsEmptyWhereTheRatioIsOne) {
  const Values values = {1.0, -2.0};
  EXPECT_EQ(hint_of({.got = values, .reference = values}, kSizes), "");
}

TEST(HintOf, IsEmptyWhereTheRatioWouldPrintAsOne) {
  const Values reference = {1.0, -2.0};
  const Values got = {1.0 + 2e-8, -2.0 - 3e-8};
  EXPECT_EQ(hint_of({.got = got, .reference = reference}, kSizes), "");
}

TEST(HintOf, IsEmptyWhereTheReferenceIsZero) {
  EXPECT_EQ(hint_of({.got = Values{1.0, 2.0}, .reference = Values{0.0, 0.0}}, kSizes), "");
  EXPECT_EQ(hint_of({.got = Values{0.0, 0.0}, .reference = Values{0.0, 0.0}}, kSizes), "");
}

TEST(HintOf, TellsZeroesAndNumbersThatAreNone) {
  const Values reference = {1.0, -2.0};
  EXPECT_EQ(hint_of({.got = Values{0.0, 0.0}, .reference = reference}, kSizes), "x0 (missing)");
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(hint_of({.got = Values{infinity, 0.0}, .reference = reference}, kSizes), "not finite");
}

TEST(SizesOf, ListsSizesAboveOneAndNoExpertOnesForADenseModel) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = 2;
  c.layout.dp = 3;
  std::vector<std::string_view> names;
  for (const NamedSize& size : sim::sizes_of(c)) names.push_back(size.name);
  EXPECT_EQ(names, (std::vector<std::string_view>{"tp", "dp", "num_micro_batches"}));
}

TEST(Hint, BelowF64ARatioIsTheNearestProductWithinItsRounding) {
  const HintTolerance bf16 = sim::hint_tolerance(Precision::kBF16);
  EXPECT_EQ(explain_ratio(0.4993, kSizes, bf16), "x0.5 = 1/tp");
  EXPECT_EQ(explain_ratio(0.49, kSizes, bf16), "x0.49");
  const Values reference{1.0, -2.0, 0.5};
  EXPECT_EQ(hint_of({.got = Values{3.01, -5.98, 1.5}, .reference = reference}, kSizes, bf16),
            "x3 = dp");
  EXPECT_EQ(hint_of({.got = Values{1.01, -1.99, 0.5}, .reference = reference}, kSizes, bf16), "");
  const HintTolerance f32 = sim::hint_tolerance(Precision::kF32);
  EXPECT_EQ(explain_ratio(0.4993, kSizes, f32), "x0.4993");
  EXPECT_EQ(explain_ratio(0.50001, kSizes, f32), "x0.5 = 1/tp");
}

}  // namespace
}  // namespace lockstep::test
