// Parallel layers on any number of ranks give what they give on one, forward and backward.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/errors.h"
#include "core/ops/host.h"
#include "core/parallel/linear.h"
#include "core/parallel/vocabulary.h"
#include "tests/core/autograd/recording_sink.h"
#include "tests/support/op_fixture.h"
#include "tests/support/rank_fixture.h"

namespace lockstep {
namespace {

using test::known_tensor;
using test::layout_of;
using test::RecordingSink;
using test::relative_error;
using test::spawn_contexts;
using test::values_of;

constexpr std::int64_t kTokens = 6;
constexpr std::int64_t kHidden = 8;
constexpr std::int64_t kFfn = 12;
constexpr std::int64_t kVocabulary = 10;

struct Outcome {
  std::vector<double> y;
  std::vector<double> dx;
};

// Column- then row-parallel on the same weights, cut for this rank.
Outcome mlp_on(const RankContext& context) {
  const int tp = context.group_size(GroupKind::kTp);
  const int r = context.group_rank(GroupKind::kTp).value;
  const Tensor w1 = known_tensor(context, {kFfn, kHidden}, 1);
  const Tensor w2 = known_tensor(context, {kFfn, kHidden}, 2);  // transposed below
  std::vector<double> w2_columns;
  for (std::int64_t h = 0; h < kHidden; ++h) {
    for (std::int64_t f = r * kFfn / tp; f < (r + 1) * kFfn / tp; ++f) {
      w2_columns.push_back(w2.data<double>()[f * kHidden + h]);
    }
  }
  const ColumnParallelLinear column("fc1", {.id = {0}, .value = w1.rows(r * kFfn / tp, kFfn / tp)});
  const RowParallelLinear row(
      "fc2",
      {.id = {1}, .value = reals_from_host(context.ops, w2_columns, {kHidden, kFfn / tp}, "test")});
  Tape tape(context.ops);
  RecordingSink sink(context.ops);
  const Variable x = tape.input(known_tensor(context, {kTokens, kHidden}, 3));
  const Variable y = row.forward(context, tape, silu(tape, column.forward(context, tape, x)));
  const Tensor dy = known_tensor(context, {kTokens, kHidden}, 4);
  const Tensor dx = tape.backward({&y, 1}, {&dy, 1}, {&x, 1}, sink)[0];
  return {.y = values_of(y.value), .dx = values_of(dx)};
}

TEST(ParallelLinear, AnyNumberOfRanksGivesOneRanksResult) {
  Outcome alone;
  spawn_contexts(layout_of({}), [&](const RankContext& context) { alone = mlp_on(context); });
  for (const int tp : {2, 3, 4}) {
    const auto report = spawn_contexts(layout_of({.tp = tp}), [&](const RankContext& context) {
      const Outcome outcome = mlp_on(context);
      EXPECT_LT(relative_error(outcome.y, alone.y), 1e-14);
      EXPECT_LT(relative_error(outcome.dx, alone.dx), 1e-14);
    });
    EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
  }
}

// Embedding and loss on a vocabulary of 10 padded to a multiple of tp.
Outcome vocabulary_on(const RankContext& context) {
  const int tp = context.group_size(GroupKind::kTp);
  const int r = context.group_rank(GroupKind::kTp).value;
  const std::int64_t rows = (kVocabulary + tp - 1) / tp;
  const std::int64_t first = r * rows;
  const std::int64_t real = std::clamp<std::int64_t>(kVocabulary - first, 0, rows);
  const VocabularyShard shard{.first_row = first, .num_real = real};
  const Tensor full = known_tensor(context, {kVocabulary, kHidden}, 5);
  std::vector<double> own(static_cast<std::size_t>(rows * kHidden), 0.0);
  for (std::int64_t i = 0; i < real * kHidden; ++i) {
    own[static_cast<std::size_t>(i)] = full.data<double>()[first * kHidden + i];
  }
  const Parameter weight{.id = {0},
                         .value = reals_from_host(context.ops, own, {rows, kHidden}, "test")};
  const VocabParallelEmbedding embed("embedding", weight, shard);
  const ColumnParallelLinear head("output_layer", weight);
  const VocabParallelCrossEntropy loss("cross_entropy", shard);
  const std::vector<std::int64_t> ids{0, 9, 4, 4, 7, 2};
  const std::vector<std::int64_t> targets{9, 0, 5, 4, 3, 8};
  const Tensor ids_T = integers_from_host(context.ops, ids, {kTokens}, "test");
  const Tensor labels_T = integers_from_host(context.ops, targets, {kTokens}, "test");
  Tape tape(context.ops);
  RecordingSink sink(context.ops);
  const Variable embedded = embed.forward(context, tape, ids_T);
  const Variable x = tape.input(embedded.value);
  const Variable losses = loss.forward(context, tape, head.forward(context, tape, x), labels_T);
  const Tensor dloss = known_tensor(context, {kTokens}, 6);
  const Tensor dx = tape.backward({&losses, 1}, {&dloss, 1}, {&x, 1}, sink)[0];
  return {.y = values_of(losses.value), .dx = values_of(dx)};
}

TEST(ParallelVocabulary, PaddingAndCutsDoNotChangeTheLoss) {
  Outcome alone;
  spawn_contexts(layout_of({}),
                 [&](const RankContext& context) { alone = vocabulary_on(context); });
  for (const int tp : {2, 3, 4, 7, 12}) {  // with 12, two ranks hold nothing but padding
    const auto report = spawn_contexts(layout_of({.tp = tp}), [&](const RankContext& context) {
      const Outcome outcome = vocabulary_on(context);
      EXPECT_LT(relative_error(outcome.y, alone.y), 1e-14);
      EXPECT_LT(relative_error(outcome.dx, alone.dx), 1e-13);
    });
    EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
  }
}

}  // namespace
}  // namespace lockstep
