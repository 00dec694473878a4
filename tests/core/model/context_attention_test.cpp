// Attention over context-parallel ranks is that of one rank on the whole sequence, both ways.
#include "core/model/context_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/config/presets.h"
#include "core/config/rules.h"
#include "tests/core/model/attention_run.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::AttentionPlansEdited;
using test::AttentionRun;
using test::relative_error;
using test::run_attention;

// Two query heads a kv head, enough of these for tp 2 and cp 4.
Case small_case() {
  Case c = preset_case("tiny-context");
  c.model.num_attention_heads = 16;
  c.model.num_key_value_heads = 8;
  c.model.head_dim = 4;
  c.recipe.seq = 16;
  c.recipe.micro_batch = 2;
  c.recipe.global_batch = 8;
  return c;
}

Case packed(Case c) {
  c.recipe.packing = true;
  c.recipe.micro_batch = 1;
  c.recipe.seq = 21;  // a multiple of nothing that cuts
  return c;
}

struct Exchange {
  std::string name;
  std::int64_t cp;
  CpComm comm;
};

class EachExchange : public testing::TestWithParam<Exchange> {
 protected:
  bool is_ring() const {
    return GetParam().comm == CpComm::kP2p || GetParam().comm == CpComm::kAllToAllP2p;
  }
  // On tp 2 and dp 2, so that groups of cp are neither runs of ranks nor all the first.
  Case over_cp(Case c) const {
    c.layout.tp = c.layout.dp = 2;
    c.layout.cp = GetParam().cp;
    c.layout.cp_comm = GetParam().comm;
    c.layout.cp_inner = 2;
    return c;
  }
};

std::vector<Exchange> exchanges() {
  return {{.name = "alone", .cp = 1, .comm = CpComm::kP2p},
          {.name = "p2p_2", .cp = 2, .comm = CpComm::kP2p},
          {.name = "p2p_4", .cp = 4, .comm = CpComm::kP2p},
          {.name = "all_gather_2", .cp = 2, .comm = CpComm::kAllGather},
          {.name = "all_gather_4", .cp = 4, .comm = CpComm::kAllGather},
          {.name = "a2a_2", .cp = 2, .comm = CpComm::kAllToAll},
          {.name = "a2a_4", .cp = 4, .comm = CpComm::kAllToAll},
          {.name = "a2a_p2p_4", .cp = 4, .comm = CpComm::kAllToAllP2p}};
}

INSTANTIATE_TEST_SUITE_P(ContextAttention,
                         EachExchange,
                         testing::ValuesIn(exchanges()),
                         [](const testing::TestParamInfo<Exchange>& its) {
                           return its.param.name;
                         });

double distance(const AttentionRun& actual, const AttentionRun& expected) {
  EXPECT_EQ(actual.dsink.size(), expected.dsink.size());
  double worst = 0.0;
  for (const auto& [a, e] : {std::pair{&actual.out, &expected.out},
                             {&actual.dq, &expected.dq},
                             {&actual.dk, &expected.dk},
                             {&actual.dv, &expected.dv}}) {
    EXPECT_EQ(a->size(), e->size());
    EXPECT_FALSE(a->empty());
    const double error = relative_error(*a, *e);
    if (!(error <= worst)) worst = error;
  }
  if (expected.dsink.empty()) return worst;
  return std::max(worst, relative_error(actual.dsink, expected.dsink));
}

// Of the second dp rank, whose data the whole sequence's run has as its first.
constexpr std::int64_t kOfOneRank = 1;
constexpr std::int64_t kOfTwoDataRanks = 0;
constexpr double kBound = 1e-12;

void expect_equal(const AttentionRun& actual, const AttentionRun& expected) {
  EXPECT_LE(distance(actual, expected), kBound);
  EXPECT_EQ(actual.at_padding, 0.0) << "nobody who counts looks at padding";
}

TEST_P(EachExchange, GivesCausalAttentionOfTheWholeSequence) {
  const Case c = small_case();
  ASSERT_TRUE(plan_context(c).is_whole) << "the one rank uses other kernels";
  expect_equal(run_attention(over_cp(c), kOfTwoDataRanks), run_attention(c, kOfOneRank));
}

TEST_P(EachExchange, KeepsPackedDocumentsApartWhateverTheirLengths) {
  const Case c = packed(small_case());
  expect_equal(run_attention(over_cp(c), kOfTwoDataRanks), run_attention(c, kOfOneRank));
}

TEST_P(EachExchange, PaddingForSequenceParallelismChangesNothing) {
  const Case c = packed(small_case());
  Case cut = over_cp(c);
  cut.layout.sp = true;
  expect_equal(run_attention(cut, kOfTwoDataRanks), run_attention(c, kOfOneRank));
}

TEST_P(EachExchange, SinksTakeTheirShareAndTheirGradientIsTheSumOverRanks) {
  for (const Case& plain : {small_case(), packed(small_case())}) {
    Case c = plain;
    c.model.attention_sink = true;
    const AttentionRun alone = run_attention(c, kOfOneRank);
    EXPECT_EQ(alone.dsink.size(), 16U);
    expect_equal(run_attention(over_cp(c), kOfTwoDataRanks), alone);
  }
}

TEST_P(EachExchange, DropsTheSameProbabilities) {
  for (const Case& plain : {small_case(), packed(small_case())}) {
    Case c = plain;
    c.recipe.dropout = 0.25;
    expect_equal(run_attention(over_cp(c), kOfTwoDataRanks), run_attention(c, kOfOneRank));
  }
}

TEST_P(EachExchange, WhereWindowsAreAllowedTheyAreThoseOfTheWholeSequence) {
  for (const Case& plain : {small_case(), packed(small_case())}) {
    for (const std::int64_t window : {1, 3, 5}) {
      Case c = plain;
      c.model.sliding_window = window;
      const Case cut = over_cp(c);
      if (is_ring() && cut.layout.cp > 1) {
        EXPECT_NE(why_invalid(cut), std::nullopt) << "a ring takes no windows";
        continue;
      }
      expect_equal(run_attention(cut, kOfTwoDataRanks), run_attention(c, kOfOneRank));
    }
  }
}

// Each edit is a plan that some framework once had; far is far above rounding.
struct WrongPlan {
  std::string name;
  CpComm comm;
  std::function<void(AttentionPlansEdited&)> edit;
};

class EachWrongPlan : public testing::TestWithParam<WrongPlan> {};

std::vector<WrongPlan> wrong_plans() {
  return {
      {"backward_reads_own_keys",
       CpComm::kP2p,
       [](AttentionPlansEdited& p) {
         for (RingStep& step : p.context.ring->backward) step.uses_own_keys = true;
       }},
      {"forward_reads_own_keys",
       CpComm::kP2p,
       [](AttentionPlansEdited& p) {
         for (RingStep& step : p.context.ring->forward) step.uses_own_keys = true;
       }},
      {"tables_do_not_travel",
       CpComm::kP2p,
       [](AttentionPlansEdited& p) {
         for (RingStep& step : p.context.ring->forward) step.owner = 0;
       }},
      {"tables_do_not_travel_backward",
       CpComm::kAllToAllP2p,
       [](AttentionPlansEdited& p) {
         for (RingStep& step : p.context.ring->backward) step.owner = 0;
       }},
      {"gradients_stop_before_home",
       CpComm::kP2p,
       [](AttentionPlansEdited& p) { p.context.ring->backward.back().passes_gradients = false; }},
      {"ring_stops_early",
       CpComm::kAllToAllP2p,
       [](AttentionPlansEdited& p) {
         p.context.ring->forward.pop_back();
         p.context.ring->forward.back().passes_keys = false;
       }},
      {"documents_joined",
       CpComm::kAllGather,
       [](AttentionPlansEdited& p) { p.context.keeps_documents_apart = false; }},
      {"sink_ignored", CpComm::kP2p, [](AttentionPlansEdited& p) { p.context.uses_sink = false; }},
      {"dropout_by_local_index",
       CpComm::kAllToAll,
       [](AttentionPlansEdited& p) { p.dropout.tensor_parallel_stream.index = MaskIndex::kLocal; }},
      {"seed_by_rank", CpComm::kAllToAll, [](AttentionPlansEdited& p) {
         p.dropout.tensor_parallel_stream.seed_axis = Axis::kTp;
       }}};
}

INSTANTIATE_TEST_SUITE_P(ContextAttention,
                         EachWrongPlan,
                         testing::ValuesIn(wrong_plans()),
                         [](const testing::TestParamInfo<WrongPlan>& its) {
                           return its.param.name;
                         });

TEST_P(EachWrongPlan, IsFarFromTheWholeSequence) {
  Case c = packed(small_case());
  c.model.attention_sink = true;
  c.recipe.dropout = 0.25;
  Case cut = c;
  cut.layout.tp = 2;
  cut.layout.cp = 4;
  cut.layout.cp_comm = GetParam().comm;
  cut.layout.cp_inner = 2;
  AttentionRun alone = run_attention(c, kOfOneRank);
  const AttentionRun wrong = run_attention(cut, kOfOneRank, GetParam().edit);
  if (GetParam().name == "sink_ignored") {
    EXPECT_EQ(wrong.dsink, std::vector<double>{}) << "nothing gives it a gradient";
    alone.dsink.clear();
  }
  EXPECT_GT(distance(wrong, alone), 1e-3);
  if (GetParam().name == "documents_joined") {
    EXPECT_GT(wrong.at_padding, 0.0) << "the next document sees the padding";
  }
}

TEST(ContextAttention, AWindowThatIsIgnoredIsFarFromTheWholeSequence) {
  Case c = small_case();
  c.model.sliding_window = 3;
  Case cut = c;
  cut.layout.cp = 2;
  cut.layout.cp_comm = CpComm::kAllGather;
  const AttentionRun wrong =
      run_attention(cut, kOfOneRank, [](AttentionPlansEdited& p) { p.context.window = 0; });
  EXPECT_GT(distance(wrong, run_attention(c, kOfOneRank)), 1e-3);
}

}  // namespace
}  // namespace lockstep
