// What is dropped depends on no layout: neither masks of copies, nor those of parts.
#include "core/model/dropout_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "core/config/presets.h"
#include "core/ops/host.h"
#include "tests/support/micro_batch_run.h"
#include "tests/support/op_fixture.h"
#include "tests/support/rank_fixture.h"

namespace lockstep {
namespace {

using test::layout_of;
using test::MicroBatchRun;
using test::relative_error;
using test::spawn_contexts;
using test::values_of;

Case dropping_case() {
  Case c = preset_case("tiny-context");
  c.recipe.seq = 16;
  c.recipe.dropout = 0.25;
  c.recipe.seed = 7;
  return c;
}

TEST(DropoutPlan, WithoutDropoutIsOneLine) {
  EXPECT_EQ(to_text(plan_dropout(preset_case("tiny-dense"))), "dropout: none\n");
}

TEST(DropoutPlan, GoldenTextsWithAndWithoutSequenceParallelism) {
  Case c = dropping_case();
  c.layout.tp = 2;
  const std::string streams =
      "dropout.default: seed 7, by full index\n"
      "dropout.tensor_parallel: seed 7, by full index\n"
      "dropout.expert: seed 7, by full index\n";
  EXPECT_EQ(to_text(plan_dropout(c)),
            "dropout: 0.25, residual from default, attention from tensor_parallel, experts from "
            "expert\n" +
                streams);
  c.layout.sp = true;
  EXPECT_EQ(to_text(plan_dropout(c)),
            "dropout: 0.25, residual from tensor_parallel, attention from tensor_parallel, experts "
            "from expert\n" +
                streams);
}

TEST(DropoutPlan, GoldenTextOfStreamsThatDifferByRank) {
  DropoutPlan plan = plan_dropout(dropping_case());
  plan.expert_stream.seed_axis = Axis::kEp;
  plan.default_stream.index = MaskIndex::kLocal;
  EXPECT_EQ(to_text(plan),
            "dropout: 0.25, residual from default, attention from tensor_parallel, experts from "
            "expert\n"
            "dropout.default: seed 7, by local index\n"
            "dropout.tensor_parallel: seed 7, by full index\n"
            "dropout.expert: seed 7 plus ep, by full index\n");
}

TEST(DropoutAt, ASitesStreamIsItsModulesAndItsSeedTheEntrys) {
  DropoutPlan plan = plan_dropout(dropping_case());
  plan.tensor_parallel_stream.seed_axis = Axis::kTp;
  spawn_contexts(layout_of({.tp = 3}), [&](const RankContext& context) {
    const Dropout shared = dropout_at(plan, RandomStream::kDefault, context, "embedding");
    EXPECT_EQ(shared.probability, 0.25);
    EXPECT_EQ(shared.seed, 7U);
    const Dropout own = dropout_at(plan, RandomStream::kTensorParallel, context, "embedding");
    EXPECT_EQ(own.seed, 7U + static_cast<std::uint64_t>(context.rank.value));
    EXPECT_EQ(own.stream, shared.stream);
    EXPECT_NE(dropout_at(plan, RandomStream::kDefault, context, "decoder").stream, shared.stream);
  });
}

// What residual dropout makes of ones, by rank; rows are the same on all.
std::map<int, std::vector<double>> dropped_ones(const Layout& layout, const DropoutPlan& plan) {
  std::map<int, std::vector<double>> by_rank;
  const auto report = spawn_contexts(layout, [&](const RankContext& context) {
    const ResidualDropout dropout(context, plan, "embedding", 8);
    const std::vector<std::int64_t> rows{3, 0, -1, 11};
    const Tensor rows_T = integers_from_host(context.ops, rows, {4}, "test.rows");
    const std::vector<double> ones(32, 1.0);
    Tape tape(context.ops);
    const Variable x = tape.input(reals_from_host(context.ops, DType::kF64, ones, {4, 8}, "test"));
    by_rank[context.rank.value] = values_of(dropout.forward(tape, x, rows_T).value);
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
  return by_rank;
}

TEST(ResidualDropout, DropsCopiesAlikeOnEveryTensorRank) {
  Case c = dropping_case();
  c.layout.tp = 4;
  const auto by_rank = dropped_ones(layout_of({.tp = 4}), plan_dropout(c));
  for (const auto& [rank, values] : by_rank) EXPECT_EQ(values, by_rank.at(0)) << rank;
  DropoutPlan wrong = plan_dropout(c);
  wrong.default_stream.seed_axis = Axis::kTp;
  EXPECT_NE(dropped_ones(layout_of({.tp = 4}), wrong).at(3), by_rank.at(3));
}

TEST(ResidualDropout, DropsOrScalesByWhatIsKeptAndLeavesPadding) {
  const std::vector<double> values =
      dropped_ones(layout_of({}), plan_dropout(dropping_case())).at(0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_padding = i / 8 == 2;
    if (is_padding) {
      EXPECT_EQ(values[i], 1.0);
    } else {
      EXPECT_TRUE(values[i] == 0.0 || values[i] == 1.0 / 0.75) << values[i];
    }
  }
  EXPECT_NE(std::count(values.begin(), values.end(), 0.0), 0);
  EXPECT_NE(std::count(values.begin(), values.end(), 1.0 / 0.75), 0);
}

struct LayoutChange {
  std::string name;
  std::function<void(Layout&)> change;
};

std::vector<LayoutChange> layouts() {
  return {{"tp", [](Layout& l) { l.tp = 2; }},
          {"tp_with_shared_kv_heads", [](Layout& l) { l.tp = 4; }},
          {"tp_sp",
           [](Layout& l) {
             l.tp = 2;
             l.sp = true;
           }},
          {"cp_p2p", [](Layout& l) { l.cp = 2; }},
          {"cp_all_gather",
           [](Layout& l) {
             l.cp = 2;
             l.cp_comm = CpComm::kAllGather;
           }},
          {"cp_a2a",
           [](Layout& l) {
             l.cp = 2;
             l.cp_comm = CpComm::kAllToAll;
           }},
          {"tp_sp_cp_dp", [](Layout& l) {
             l.tp = l.cp = l.dp = 2;
             l.sp = true;
           }}};
}

class EachLayout : public testing::TestWithParam<LayoutChange> {};
INSTANTIATE_TEST_SUITE_P(Dropout,
                         EachLayout,
                         testing::ValuesIn(layouts()),
                         [](const testing::TestParamInfo<LayoutChange>& its) {
                           return its.param.name;
                         });

MicroBatchRun run(
    const Case& c, const std::function<void(Plans&)>& edit = [](Plans&) {}) {
  return test::run_micro_batch(c, {.id = {.step = 1, .global_micro_batch = 2}, .edit = edit});
}

// The largest relative error of any activation.
double distance(const MicroBatchRun& actual, const MicroBatchRun& expected) {
  double worst = 0.0;
  EXPECT_EQ(actual.activations.size(), expected.activations.size());
  for (std::size_t i = 0; i < std::min(actual.activations.size(), expected.activations.size());
       ++i) {
    const double error = relative_error(actual.activations[i], expected.activations[i]);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

TEST_P(EachLayout, DropsWhatOneRankDrops) {
  for (const bool packing : {false, true}) {
    Case c = dropping_case();
    c.recipe.packing = packing;
    const MicroBatchRun alone = run(c);
    GetParam().change(c.layout);
    const MicroBatchRun outcome = run(c);
    EXPECT_LE(distance(outcome, alone), 1e-12);
    ASSERT_EQ(outcome.gradients.size(), alone.gradients.size());
    for (std::size_t i = 0; i < alone.gradients.size(); ++i) {
      EXPECT_LT(relative_error(outcome.gradients[i], alone.gradients[i]), 1e-11) << i;
    }
  }
}

TEST(Dropout, IsAnotherOneOfEachTokenMicroBatchAndStep) {
  const Case c = dropping_case();
  const MicroBatchRun base = run(c);
  Case without = c;
  without.recipe.dropout = 0.0;
  EXPECT_GT(distance(run(without), base), 1e-3);
  // All tokens alike: only masks can tell micro-batches and steps apart.
  const auto embedding = [&](const MicroBatchId& id) {
    return test::run_micro_batch(c,
                                 {.id = id,
                                  .edit_batch =
                                      [&](const RankContext& context, MicroBatch& batch) {
                                        const std::vector<std::int64_t> ids(16, 1);
                                        batch.ids_T =
                                            integers_from_host(context.ops, ids, {16}, "test.ids");
                                      }})
        .activations[0];
  };
  const auto first = embedding({.step = 0, .global_micro_batch = 0});
  EXPECT_EQ(embedding({.step = 0, .global_micro_batch = 0}), first);
  EXPECT_NE(embedding({.step = 0, .global_micro_batch = 1}), first);
  EXPECT_NE(embedding({.step = 1, .global_micro_batch = 0}), first);
  const std::vector<double> row(first.begin(), first.begin() + 32);
  EXPECT_FALSE(std::equal(row.begin(), row.end(), first.begin() + 32)) << "nor rows of one sample";
}

struct WrongStream {
  std::string name;
  std::function<void(Layout&)> layout;
  std::function<void(DropoutPlan&)> edit;
};

void two_tensor_ranks(Layout& layout) { layout.tp = 2; }
void two_sequence_ranks(Layout& layout) {
  layout.tp = 2;
  layout.sp = true;
}
void two_context_ranks(Layout& layout) { layout.cp = 2; }
void two_data_ranks(Layout& layout) { layout.dp = 2; }

std::vector<WrongStream> wrong_streams() {
  const auto local = MaskIndex::kLocal;
  return {
      {"copies_seeded_by_rank",
       two_tensor_ranks,
       [](DropoutPlan& p) { p.default_stream.seed_axis = Axis::kTp; }},
      {"heads_seeded_by_rank",
       two_tensor_ranks,
       [](DropoutPlan& p) { p.tensor_parallel_stream.seed_axis = Axis::kTp; }},
      {"heads_by_local_index",
       two_tensor_ranks,
       [=](DropoutPlan& p) { p.tensor_parallel_stream.index = local; }},
      {"parts_by_local_index",
       two_sequence_ranks,
       [=](DropoutPlan& p) { p.tensor_parallel_stream.index = local; }},
      {"parts_seeded_by_rank",
       two_sequence_ranks,
       [](DropoutPlan& p) { p.tensor_parallel_stream.seed_axis = Axis::kTp; }},
      {"tokens_by_local_index",
       two_context_ranks,
       [=](DropoutPlan& p) { p.default_stream.index = local; }},
      {"tokens_seeded_by_rank",
       two_context_ranks,
       [](DropoutPlan& p) { p.default_stream.seed_axis = Axis::kCp; }},
      {"seeded_by_data_rank",
       two_data_ranks,
       [](DropoutPlan& p) { p.default_stream.seed_axis = Axis::kDp; }},
      {"another_seed",
       two_tensor_ranks,
       [](DropoutPlan& p) { p.tensor_parallel_stream.seed += 2718; }},
  };
}

class EachWrongStream : public testing::TestWithParam<WrongStream> {};
INSTANTIATE_TEST_SUITE_P(Dropout,
                         EachWrongStream,
                         testing::ValuesIn(wrong_streams()),
                         [](const testing::TestParamInfo<WrongStream>& its) {
                           return its.param.name;
                         });

TEST_P(EachWrongStream, ChangesWhatIsDropped) {
  Case c = dropping_case();
  const MicroBatchRun alone = run(c);
  GetParam().layout(c.layout);
  EXPECT_LE(distance(run(c), alone), 1e-12);
  const MicroBatchRun wrong = run(c, [](Plans& plans) { GetParam().edit(plans.dropout); });
  EXPECT_GT(distance(wrong, alone), 1e-3);
}

}  // namespace
}  // namespace lockstep
