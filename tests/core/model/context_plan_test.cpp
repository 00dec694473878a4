// Where attention finds other ranks' tokens: golden plans, and whose tokens lie in which block.
#include "core/model/context_plan.h"

#include <gtest/gtest.h>

#include "core/config/presets.h"
#include "tests/support/rank_fixture.h"

namespace lockstep {
namespace {

using Parts = std::vector<std::int64_t>;

Case case_of(std::int64_t cp, CpComm comm) {
  Case c = preset_case("tiny-context");
  c.layout.cp = cp;
  c.layout.cp_comm = comm;
  c.layout.cp_inner = 2;
  return c;
}

TEST(ContextPlan, GoldenTextOfARingOfThree) {
  EXPECT_EQ(to_text(plan_context(case_of(3, CpComm::kP2p))),
            "context: window 0, no sink, documents apart, tokens zigzag of 3 over cp, documents "
            "padded to 1\n"
            "context: ring over cp\n"
            "forward.ring0: keys of the rank 0 back, passes keys\n"
            "forward.ring1: keys of the rank 1 back, passes keys\n"
            "forward.ring2: keys of the rank 2 back\n"
            "backward.ring0: keys of the rank 0 back, passes keys, passes gradients\n"
            "backward.ring1: keys of the rank 1 back, passes keys, passes gradients\n"
            "backward.ring2: keys of the rank 2 back, passes gradients\n");
}

TEST(ContextPlan, GoldenTextOfHeadsExchangedWithinTwoRingsOfTwo) {
  Case c = case_of(4, CpComm::kAllToAllP2p);
  c.recipe.packing = true;
  c.model.attention_sink = true;
  EXPECT_EQ(to_text(plan_context(c)),
            "context: window 0, a sink, documents apart, tokens zigzag of 4 over cp, documents "
            "padded to 8\n"
            "context: heads over cp_inner\n"
            "context: ring over cp_outer\n"
            "forward.ring0: keys of the rank 0 back, passes keys\n"
            "forward.ring1: keys of the rank 1 back\n"
            "backward.ring0: keys of the rank 0 back, passes keys, passes gradients\n"
            "backward.ring1: keys of the rank 1 back, passes gradients\n");
}

TEST(ContextPlan, GatheredKeysAndExchangedHeadsGoOverCp) {
  Case c = case_of(2, CpComm::kAllGather);
  c.model.sliding_window = 5;
  const std::string first =
      "context: window 5, no sink, documents apart, tokens zigzag of 2 over cp, documents padded "
      "to 1\n";
  EXPECT_EQ(to_text(plan_context(c)), first + "context: keys over cp\n");
  c.layout.cp_comm = CpComm::kAllToAll;
  EXPECT_EQ(to_text(plan_context(c)), first + "context: heads over cp\n");
}

TEST(ContextPlan, OnlyCausalAttentionOfWholeSequencesNeedsNoTables) {
  const Case whole = preset_case("tiny-context");
  EXPECT_EQ(to_text(plan_context(whole)), "context: whole sequences\n");
  for (const auto& edit : {+[](Case& c) { c.layout.cp = 2; },
                           +[](Case& c) { c.recipe.packing = true; },
                           +[](Case& c) { c.recipe.dropout = 0.5; },
                           +[](Case& c) { c.model.sliding_window = 3; },
                           +[](Case& c) { c.model.attention_sink = true; }}) {
    Case c = whole;
    edit(c);
    EXPECT_FALSE(plan_context(c).is_whole);
  }
}

// On each rank of tp 2, this cp and dp 2; groups of cp are no runs of ranks, and most not the
// first of their kind.
void expect_parts(const Case& c,
                  const std::function<AttendedParts(std::int64_t cp_rank)>& expected) {
  Layout layout = c.layout;
  layout.tp = layout.dp = 2;
  const ContextPlan plan = plan_context(c);
  const auto report = test::spawn_contexts(layout, [&](const RankContext& context) {
    const AttendedParts parts = attended_parts(plan, context);
    const AttendedParts right = expected(context.rank.value / 2 % c.layout.cp);
    EXPECT_EQ(parts.queries, right.queries) << context.rank.value;
    EXPECT_EQ(parts.forward_keys, right.forward_keys) << context.rank.value;
    EXPECT_EQ(parts.backward_keys, right.backward_keys) << context.rank.value;
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
}

TEST(AttendedParts, OnARingKeysComeFromOneRankFurtherBackAtEachStep) {
  expect_parts(case_of(3, CpComm::kP2p), [](std::int64_t r) -> AttendedParts {
    const std::vector<Parts> keys{{r}, {(r + 2) % 3}, {(r + 1) % 3}};
    return {.queries = {r}, .forward_keys = keys, .backward_keys = keys};
  });
}

TEST(AttendedParts, GatheredKeysAreThoseOfAllParts) {
  expect_parts(case_of(4, CpComm::kAllGather), [](std::int64_t r) -> AttendedParts {
    return {.queries = {r}, .forward_keys = {{0, 1, 2, 3}}, .backward_keys = {{0, 1, 2, 3}}};
  });
}

TEST(AttendedParts, WithExchangedHeadsQueriesAreAllTokensToo) {
  expect_parts(case_of(4, CpComm::kAllToAll), [](std::int64_t) -> AttendedParts {
    const Parts all{0, 1, 2, 3};
    return {.queries = all, .forward_keys = {all}, .backward_keys = {all}};
  });
}

TEST(AttendedParts, AnInnerGroupsTokensTravelTogether) {
  expect_parts(case_of(4, CpComm::kAllToAllP2p), [](std::int64_t r) -> AttendedParts {
    const Parts low{0, 1};
    const Parts high{2, 3};
    const std::vector<Parts> keys = r < 2 ? std::vector{low, high} : std::vector{high, low};
    return {.queries = keys[0], .forward_keys = keys, .backward_keys = keys};
  });
}

TEST(AttendedParts, WithoutContextParallelismAreTheOneThereIs) {
  Case c = case_of(1, CpComm::kP2p);
  c.recipe.packing = true;
  expect_parts(c, [](std::int64_t) -> AttendedParts {
    return {.queries = {0}, .forward_keys = {{0}}, .backward_keys = {{0}}};
  });
}

std::vector<std::int64_t> table_of(const ContextPlan& plan, const Parts& parts) {
  const Documents documents{.starts = {0, 5}, .seq = 8};  // lengths 5 and 3
  std::vector<std::int64_t> values;
  test::spawn_contexts(test::layout_of({}), [&](const RankContext& context) {
    const Tensor table = token_table(context.ops, plan, documents, parts);
    EXPECT_EQ(table.shape[0], 3);
    const auto* data = table.data<std::int64_t>();
    values.assign(data, data + table.num_elements());
  });
  return values;
}

TEST(TokenTable, HoldsDocumentPlaceAndPositionPartByPart) {
  const ContextPlan plan{.tokens = {.num_parts = 2, .multiple = 4}};
  EXPECT_EQ(table_of(plan, {1}),
            (std::vector<std::int64_t>{0,
                                       0,
                                       0,
                                       0,
                                       1,
                                       1,  // documents
                                       2,
                                       3,
                                       4,
                                       5,
                                       1,
                                       2,  // places
                                       2,
                                       3,
                                       4,
                                       -1,
                                       6,
                                       7}));  // positions
  EXPECT_EQ(table_of(plan, {1, 0}),
            (std::vector<std::int64_t>{0, 0, 0, 0,  1, 1, 0, 0, 0,  0,  1, 1,  //
                                       2, 3, 4, 5,  1, 2, 0, 1, 6,  7,  0, 3,  //
                                       2, 3, 4, -1, 6, 7, 0, 1, -1, -1, 5, -1}));
}

TEST(TokenTable, OfJoinedDocumentsCountsPlacesThroughTheSample) {
  const ContextPlan plan{.keeps_documents_apart = false, .tokens = {.num_parts = 2, .multiple = 4}};
  EXPECT_EQ(table_of(plan, {1}),
            (std::vector<std::int64_t>{0,
                                       0,
                                       0,
                                       0,
                                       0,
                                       0,  //
                                       2,
                                       3,
                                       4,
                                       5,
                                       9,
                                       10,  // 8 slots before the second document
                                       2,
                                       3,
                                       4,
                                       -1,
                                       6,
                                       7}));
}

}  // namespace
}  // namespace lockstep
