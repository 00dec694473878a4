// Who sees whom: one token changed, exactly those logits change that causal attention within its
// document and window lets it reach.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "core/config/data.h"
#include "core/config/presets.h"
#include "core/config/rules.h"
#include "tests/support/micro_batch_run.h"

namespace lockstep {
namespace {

using test::MicroBatchRun;

constexpr MicroBatchId kMicroBatch{.step = 0, .global_micro_batch = 1};

Case whole_case() {
  Case c = preset_case("tiny-context");
  c.model.num_key_value_heads = 8;  // shared out over cp 4 and tp 2
  c.recipe.seq = 24;
  c.recipe.micro_batch = 2;
  c.recipe.global_batch = 8;
  return c;
}

Case packed_case() {
  Case c = whole_case();
  c.recipe.micro_batch = 1;
  c.recipe.packing = true;
  return c;
}

Documents documents_of(const Case& c) {
  const std::int64_t sample = kMicroBatch.global_micro_batch * c.recipe.micro_batch;
  return {.starts = document_starts(c, kMicroBatch.step, sample), .seq = c.recipe.seq};
}

// Another token at this position of the first sample, on every rank that holds it.
void change_token(const Case& c,
                  std::int64_t position,
                  const RankContext& context,
                  const MicroBatch& batch) {
  const SequenceCut cut = plan_sequence_cut(c);
  const std::vector<SequenceSlot> slots = slots_of(cut, documents_of(c), part_of(cut, context));
  for (std::size_t s = 0; s < slots.size(); ++s) {
    if (slots[s].position != position) continue;
    const auto row = static_cast<std::int64_t>(s) * c.recipe.micro_batch;
    std::int64_t& id = batch.ids_T.data<std::int64_t>()[row];
    id = (id + 1) % c.model.vocab_size;
  }
}

using Rows = std::set<std::int64_t>;

// Rows of the logits that differ in any bit once the token is another.
Rows changed_rows(
    const Case& c, std::int64_t position, const std::function<void(Plans&)>& edit = [](Plans&) {}) {
  const MicroBatchRun before = test::run_micro_batch(c, {.id = kMicroBatch, .edit = edit});
  const MicroBatchRun after =
      test::run_micro_batch(c,
                            {.id = kMicroBatch,
                             .edit = edit,
                             .edit_batch = [&](const RankContext& context, MicroBatch& b) {
                               change_token(c, position, context, b);
                             }});
  const std::vector<double>& a = before.activations.back();
  const std::vector<double>& b = after.activations.back();
  EXPECT_EQ(static_cast<std::int64_t>(a.size()),
            c.recipe.seq * c.recipe.micro_batch * c.model.vocab_size);
  EXPECT_EQ(a.size(), b.size());
  Rows rows;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] != b[i]) rows.insert(static_cast<std::int64_t>(i) / c.model.vocab_size);
  }
  return rows;
}

// Up to where the document of a position goes.
std::int64_t end_of_document(const Case& c, std::int64_t position) {
  const Documents documents = documents_of(c);
  const auto next = std::upper_bound(documents.starts.begin(), documents.starts.end(), position);
  return next == documents.starts.end() ? documents.seq : *next;
}

// Rows of the first sample's positions [first, end).
Rows rows_between(const Case& c, std::int64_t first, std::int64_t end) {
  Rows rows;
  for (std::int64_t p = first; p < end; ++p) rows.insert(p * c.recipe.micro_batch);
  return rows;
}

Rows reachable_rows(const Case& c, std::int64_t position) {
  std::int64_t end = end_of_document(c, position);
  if (c.model.sliding_window > 0) {
    const std::int64_t reach = c.model.num_hidden_layers * (c.model.sliding_window - 1);
    end = std::min(end, position + reach + 1);
  }
  return rows_between(c, position, end);
}

// In the first, a middle and the last chunk of cp 4, and at a document's last token.
std::vector<std::int64_t> positions_to_change(const Case& c) {
  return {0, 7, end_of_document(c, 7) - 1, 13, c.recipe.seq - 1};
}

void expect_exact_reach(const Case& c) {
  for (const std::int64_t position : positions_to_change(c)) {
    EXPECT_EQ(changed_rows(c, position), reachable_rows(c, position)) << "position " << position;
  }
}

struct Exchange {
  std::string name;
  std::int64_t cp;
  CpComm comm;
  bool takes_windows;
};

class Influence : public testing::TestWithParam<Exchange> {
 protected:
  static Case over_cp(Case c) {
    c.layout.cp = GetParam().cp;
    c.layout.cp_comm = GetParam().comm;
    c.layout.cp_inner = 2;
    return c;
  }
};

std::vector<Exchange> exchanges() {
  return {{.name = "alone", .cp = 1, .comm = CpComm::kP2p, .takes_windows = true},
          {.name = "p2p_2", .cp = 2, .comm = CpComm::kP2p, .takes_windows = false},
          {.name = "p2p_4", .cp = 4, .comm = CpComm::kP2p, .takes_windows = false},
          {.name = "all_gather_2", .cp = 2, .comm = CpComm::kAllGather, .takes_windows = true},
          {.name = "all_gather_4", .cp = 4, .comm = CpComm::kAllGather, .takes_windows = true},
          {.name = "a2a_2", .cp = 2, .comm = CpComm::kAllToAll, .takes_windows = true},
          {.name = "a2a_4", .cp = 4, .comm = CpComm::kAllToAll, .takes_windows = true},
          {.name = "a2a_p2p_4", .cp = 4, .comm = CpComm::kAllToAllP2p, .takes_windows = false}};
}

INSTANTIATE_TEST_SUITE_P(EachExchange,
                         Influence,
                         testing::ValuesIn(exchanges()),
                         [](const testing::TestParamInfo<Exchange>& its) {
                           return its.param.name;
                         });

TEST_P(Influence, OfATokenReachesAllThatFollowInItsSampleAndNothingElse) {
  expect_exact_reach(over_cp(whole_case()));
}

TEST_P(Influence, OfATokenEndsWithItsDocument) { expect_exact_reach(over_cp(packed_case())); }

TEST_P(Influence, OfATokenIsTheSameOnTensorRanksAndUnderSequenceParallelism) {
  for (const bool sp : {false, true}) {
    Case c = over_cp(packed_case());
    c.layout.tp = c.layout.dp = 2;
    c.layout.sp = sp;
    EXPECT_EQ(changed_rows(c, 7), reachable_rows(c, 7)) << (sp ? "sp" : "no sp");
  }
}

TEST_P(Influence, OfATokenGoesAsFarAsWindowsOfAllLayersTakeIt) {
  for (const Case& plain : {whole_case(), packed_case()}) {
    for (const std::int64_t window : {1, 3}) {
      Case c = over_cp(plain);
      c.model.sliding_window = window;
      EXPECT_EQ(why_invalid(c).has_value(), !GetParam().takes_windows);
      if (GetParam().takes_windows) expect_exact_reach(c);
    }
  }
}

TEST_P(Influence, OfATokenIsNotChangedByASink) {
  Case c = over_cp(packed_case());
  c.model.attention_sink = true;
  expect_exact_reach(c);
}

// What is dropped may cut a token's ways to a row.
TEST_P(Influence, OfATokenReachesNoFurtherWithDropout) {
  Case c = over_cp(packed_case());
  c.recipe.dropout = 0.125;
  for (const std::int64_t position : {0, 7}) {
    const Rows reachable = reachable_rows(c, position);
    const Rows changed = changed_rows(c, position);
    EXPECT_TRUE(std::includes(reachable.begin(), reachable.end(), changed.begin(), changed.end()));
    EXPECT_TRUE(changed.contains(position));
  }
}

TEST_P(Influence, PassesFromDocumentToDocumentWhereThePlanJoinsThem) {
  const Case c = over_cp(packed_case());
  ASSERT_LT(end_of_document(c, 7), c.recipe.seq);
  EXPECT_EQ(changed_rows(c, 7, [](Plans& p) { p.context.keeps_documents_apart = false; }),
            rows_between(c, 7, c.recipe.seq));
}

TEST(InfluenceWithoutItsWindow, ReachesAllThatFollow) {
  for (const CpComm comm : {CpComm::kAllGather, CpComm::kAllToAll}) {
    Case c = whole_case();
    c.model.sliding_window = 3;
    c.layout.cp = 2;
    c.layout.cp_comm = comm;
    EXPECT_EQ(changed_rows(c, 7, [](Plans& p) { p.context.window = 0; }),
              rows_between(c, 7, c.recipe.seq));
  }
}

TEST(InfluenceOnARing, IsWrongWhereTablesDoNotTravelWithKeys) {
  Case c = whole_case();
  c.layout.cp = 4;
  c.layout.cp_comm = CpComm::kP2p;
  const auto edit = [](Plans& p) {
    for (RingStep& step : p.context.ring->forward) step.owner = 0;
  };
  EXPECT_NE(changed_rows(c, 13, edit), reachable_rows(c, 13));
}

}  // namespace
}  // namespace lockstep
