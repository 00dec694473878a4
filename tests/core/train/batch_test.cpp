// Which samples a rank trains on, which of their tokens it holds, and what it knows of them.
#include "core/train/batch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "core/config/data.h"
#include "core/config/presets.h"
#include "tests/support/rank_fixture.h"

namespace lockstep {
namespace {

using test::values_of;

std::vector<std::int64_t> integers_of(const Tensor& tensor) {
  const auto* data = tensor.data<std::int64_t>();
  return {data, data + tensor.num_elements()};
}

TEST(BatchPlan, DataRanksShareTheGlobalMicroBatchesRoundRobin) {
  Case c = preset_case("tiny-linear");
  c.layout.dp = 3;
  const BatchPlan plan = plan_batch(c);
  std::set<std::int64_t> seen;
  for (int d = 0; d < 3; ++d) {
    for (std::int64_t m = 0; m < plan.num_micro_batches; ++m) {
      const std::int64_t index = global_micro_batch(plan, m, {d});
      EXPECT_EQ(index % 3, d);
      EXPECT_TRUE(seen.insert(index).second);
    }
  }
  EXPECT_EQ(seen.size(), 12U);
}

TEST(BatchPlan, GoldenTextOfDataRanks) {
  Case c = preset_case("tiny-linear");
  c.layout.dp = 3;
  EXPECT_EQ(to_text(plan_batch(c)),
            "batch: 4 micro-batches of 1, global number m * 3 + d * 1\n"
            "batch.ids: zigzag of 1 over cp, documents padded to 1\n"
            "batch.labels: zigzag of 1 over cp, documents padded to 1\n"
            "batch.weights: zigzag of 1 over cp, documents padded to 1\n"
            "batch.positions: zigzag of 1 over cp, documents padded to 1\n"
            "batch.rows: zigzag of 1 over cp, documents padded to 1\n"
            "batch: labels shifted before the cut, padding weighs 0\n");
}

TEST(BatchPlan, GoldenTextOfPackedContextRanks) {
  Case c = preset_case("tiny-context");
  c.layout.cp = c.layout.tp = 2;
  c.layout.sp = true;
  c.recipe.packing = true;
  EXPECT_EQ(to_text(plan_batch(c)),
            "batch: 6 micro-batches of 1, global number m * 1 + d * 1\n"
            "batch.ids: zigzag of 2 over cp, documents padded to 8\n"
            "batch.labels: zigzag of 2 over cp, documents padded to 8\n"
            "batch.weights: zigzag of 2 over cp, documents padded to 8\n"
            "batch.positions: zigzag of 2 over cp, documents padded to 8\n"
            "batch.rows: zigzag of 2 over cp, documents padded to 8\n"
            "batch: labels shifted before the cut, padding weighs 0\n");
}

// What `look` is given of a micro-batch on each rank.
struct Made {
  const RankContext& context;
  const BatchMaker& batches;
  const MicroBatch& batch;
};

void on_each_rank(const Case& c,
                  const MicroBatchId& id,
                  const BatchPlan& plan,
                  const std::function<void(const Made&)>& look) {
  const HeadPlan heads = plan_heads(c);
  const ContextPlan attends = plan_context(c);
  const DropoutPlan dropout = plan_dropout(c);
  const AttentionPlans attention{.heads = heads, .context = attends, .dropout = dropout};
  const auto report = test::spawn_contexts(c.layout, [&](const RankContext& context) {
    const BatchMaker batches(context, c, plan, attention);
    look({.context = context, .batches = batches, .batch = batches.micro_batch(id)});
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
}

TEST(MicroBatch, RowsAreSequenceMajorAndLabelsAreTheNextTokens) {
  Case c = preset_case("tiny-linear");
  c.recipe.micro_batch = 2;
  on_each_rank(c, {.step = 1, .global_micro_batch = 3}, plan_batch(c), [&](const Made& made) {
    const MicroBatch& batch = made.batch;
    std::int64_t targets = 0;
    for (std::int64_t s = 0; s < c.recipe.seq; ++s) {
      for (std::int64_t b = 0; b < 2; ++b) {
        const std::int64_t row = s * 2 + b;
        EXPECT_EQ(batch.ids_T.data<std::int64_t>()[row], token(c, 1, 6 + b, s));
        EXPECT_EQ(batch.labels_T.data<std::int64_t>()[row], token(c, 1, 6 + b, s + 1));
        const bool counts = is_target(c, 1, 6 + b, s);
        EXPECT_EQ(batch.weights_T.data<double>()[row], counts ? 1.0 : 0.0);
        targets += counts ? 1 : 0;
      }
    }
    EXPECT_EQ(batch.targets, targets);
    EXPECT_EQ(batch.sequence.first_token, (12 + 6) * c.recipe.seq) << "of step 1, sample 6";
  });
}

Case packed_case() {
  Case c = preset_case("tiny-context");
  c.layout.tp = c.layout.cp = c.layout.dp = 2;
  c.recipe.packing = true;
  return c;
}

// Sequence positions by row of a rank, -1 of padding, as its activations' rows say.
std::vector<std::int64_t> positions_of(const std::vector<ShardRun>& runs, std::int64_t rows) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(rows), -1);
  for (const ShardRun& run : runs) {
    for (std::int64_t i = 0; i < run.count; ++i) {
      positions[static_cast<std::size_t>(run.local + i)] = run.global + i;
    }
  }
  return positions;
}

TEST(MicroBatch, EachTokenOfASampleLiesOnOneContextRankWithItsLabelAndWeight) {
  for (const bool packing : {false, true}) {
    Case c = packed_case();
    c.recipe.packing = packing;
    const MicroBatchId id{.step = 1, .global_micro_batch = 4};
    std::map<std::int64_t, int> holders;  // by position
    std::int64_t targets = 0;
    on_each_rank(c, id, plan_batch(c), [&](const Made& made) {
      const MicroBatch& batch = made.batch;
      const ActivationRowRuns rows = made.batches.rows(id);
      const auto positions = positions_of(rows.all, rows.num_all);
      ASSERT_EQ(batch.ids_T.num_elements(), rows.num_all);
      for (std::size_t row = 0; row < positions.size(); ++row) {
        const std::int64_t position = positions[row];
        const double weight = batch.weights_T.data<double>()[row];
        if (position < 0) {
          EXPECT_EQ(weight, 0.0) << "padding";
          continue;
        }
        EXPECT_EQ(batch.ids_T.data<std::int64_t>()[row], token(c, 1, 4, position));
        EXPECT_EQ(batch.labels_T.data<std::int64_t>()[row], token(c, 1, 4, position + 1))
            << "the next token of the sample, wherever it lies";
        EXPECT_EQ(weight, is_target(c, 1, 4, position) ? 1.0 : 0.0);
        if (made.context.rank.value < 4 && made.context.rank.value % 2 == 0) ++holders[position];
      }
      if (made.context.rank.value < 4 && made.context.rank.value % 2 == 0) targets += batch.targets;
    });
    EXPECT_EQ(holders.size(), 64U);
    for (const auto& [position, count] : holders) EXPECT_EQ(count, 1) << position;
    std::int64_t all = 0;
    for (std::int64_t p = 0; p < c.recipe.seq; ++p) all += is_target(c, 1, 4, p) ? 1 : 0;
    EXPECT_EQ(targets, all);
  }
}

TEST(MicroBatch, UnderSequenceParallelismOwnRowsAreATensorRanksRunOfAll) {
  Case c = packed_case();
  c.layout.sp = true;
  const MicroBatchId id{.step = 0, .global_micro_batch = 2};
  on_each_rank(c, id, plan_batch(c), [&](const Made& made) {
    const ActivationRowRuns rows = made.batches.rows(id);
    EXPECT_EQ(rows.num_own * 2, rows.num_all);
    const auto all = positions_of(rows.all, rows.num_all);
    const auto first = all.begin() + made.context.group_rank(GroupKind::kTp).value * rows.num_own;
    EXPECT_EQ(positions_of(rows.own, rows.num_own),
              std::vector<std::int64_t>(first, first + rows.num_own));
  });
}

TEST(MicroBatch, RowsOfDropoutAreTokensOfAllStepsAndPaddingHasNone) {
  Case c = packed_case();
  c.recipe.dropout = 0.5;
  c.layout.sp = true;
  const MicroBatchId id{.step = 1, .global_micro_batch = 2};
  on_each_rank(c, id, plan_batch(c), [&](const Made& made) {
    const ActivationRowRuns rows = made.batches.rows(id);
    std::vector<std::int64_t> expected = positions_of(rows.own, rows.num_own);
    for (std::int64_t& row : expected) {
      if (row >= 0) row += (6 + 2) * 64;
    }
    EXPECT_EQ(integers_of(made.batch.sequence.residual_rows), expected);
  });
}

TEST(MicroBatch, WithoutDropoutThereAreNoRowsAndForWholeSequencesNoTables) {
  on_each_rank(
      preset_case("tiny-dense"), {}, plan_batch(preset_case("tiny-dense")), [](const Made& made) {
        EXPECT_FALSE(made.batch.sequence.residual_rows);
        EXPECT_FALSE(made.batch.sequence.query_tokens);
        EXPECT_TRUE(made.batch.sequence.forward_key_tokens.empty());
        EXPECT_TRUE(made.batch.sequence.rope.cos);
      });
}

TEST(MicroBatch, ATablePerBlockOfKeys) {
  Case c = packed_case();
  c.layout.cp = 4;
  on_each_rank(c, {}, plan_batch(c), [](const Made& made) {
    const SequenceTables& tables = made.batch.sequence;
    EXPECT_EQ(tables.forward_key_tokens.size(), 4U);
    EXPECT_EQ(tables.backward_key_tokens.size(), 4U);
    EXPECT_EQ(integers_of(tables.forward_key_tokens[0]), integers_of(tables.query_tokens))
        << "the first block is the rank's own";
  });
}

// cos of the first frequency, whose angle is the position itself.
TEST(MicroBatch, AnglesGoByPlacesInDocuments) {
  const Case c = packed_case();
  const MicroBatchId id{.step = 0, .global_micro_batch = 1};
  const Documents documents{.starts = document_starts(c, 0, 1), .seq = c.recipe.seq};
  on_each_rank(c, id, plan_batch(c), [&](const Made& made) {
    const SequenceCut cut = plan_sequence_cut(c);
    const auto slots = slots_of(cut, documents, part_of(cut, made.context));
    const Tensor& cos = made.batch.sequence.rope.cos;
    ASSERT_EQ(cos.shape[0], static_cast<std::int64_t>(slots.size()));
    for (std::size_t s = 0; s < slots.size(); ++s) {
      if (slots[s].is_padding()) continue;
      EXPECT_NEAR(values_of(cos)[s * static_cast<std::size_t>(cos.shape[1])],
                  std::cos(static_cast<double>(slots[s].place)),
                  1e-14);
    }
  });
}

// Where its plan is edited, a field differs from the right one on some rank.
bool differs(const Case& c,
             const std::function<void(BatchPlan&)>& edit,
             const std::function<std::vector<double>(const MicroBatch&)>& read) {
  const MicroBatchId id{.step = 0, .global_micro_batch = 1};
  BatchPlan wrong = plan_batch(c);
  edit(wrong);
  std::map<int, std::vector<double>> right;
  bool any = false;
  on_each_rank(c, id, plan_batch(c), [&](const Made& made) {
    right[made.context.rank.value] = read(made.batch);
  });
  on_each_rank(c, id, wrong, [&](const Made& made) {
    any = any || right[made.context.rank.value] != read(made.batch);
  });
  return any;
}

std::vector<double> reals_of_integers(const Tensor& tensor) {
  std::vector<double> reals;
  for (const std::int64_t value : integers_of(tensor)) reals.push_back(static_cast<double>(value));
  return reals;
}

TEST(MicroBatch, EachWrongEntryOfThePlanChangesItsFieldAlone) {
  const Case c = packed_case();
  const auto ids = [](const MicroBatch& b) { return reals_of_integers(b.ids_T); };
  const auto labels = [](const MicroBatch& b) { return reals_of_integers(b.labels_T); };
  const auto weights = [](const MicroBatch& b) { return values_of(b.weights_T); };
  const auto shift = [](BatchPlan& p) { p.shift = LabelShift::kAfterCut; };
  EXPECT_TRUE(differs(c, shift, labels));
  EXPECT_FALSE(differs(c, shift, ids));
  const auto contiguous = [](BatchPlan& p) { p.labels.order = ChunkOrder::kContiguous; };
  EXPECT_TRUE(differs(c, contiguous, labels));
  EXPECT_FALSE(differs(c, contiguous, weights));
  const auto by_data_rank = [](BatchPlan& p) { p.ids.axis = Axis::kDp; };
  EXPECT_TRUE(differs(c, by_data_rank, ids));
  EXPECT_FALSE(differs(c, by_data_rank, labels));
  const auto padding = [](BatchPlan& p) { p.padding_weight = 1.0; };
  EXPECT_TRUE(differs(c, padding, weights));
  EXPECT_FALSE(differs(c, padding, labels));
}

TEST(MicroBatch, PaddingThatWeighsCountsAsTargets) {
  const Case c = packed_case();
  BatchPlan plan = plan_batch(c);
  plan.padding_weight = 1.0;
  const MicroBatchId id{.step = 0, .global_micro_batch = 1};
  on_each_rank(c, id, plan, [&](const Made& made) {
    const ActivationRowRuns rows = made.batches.rows(id);
    std::int64_t expected = 0;
    for (const std::int64_t position : positions_of(rows.all, rows.num_all)) {
      expected += position < 0 || is_target(c, 0, 1, position) ? 1 : 0;
    }
    EXPECT_EQ(made.batch.targets, expected);
  });
}

}  // namespace
}  // namespace lockstep
