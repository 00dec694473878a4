// Parallel layers on any number of ranks give what they give on one, forward and backward.
#include <gtest/gtest.h>

#include <algorithm>

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
  std::vector<double> dbias;  // of the row-parallel map
};

// This rank's rows of a tensor of tokens: all, or its share under sequence parallelism.
Tensor own_tokens(const RankContext& context, const Tensor& x_TH) {
  if (context.mappings.enter == MappingKind::kCopy) return x_TH;
  const std::int64_t rows = kTokens / context.group_size(GroupKind::kTp);
  return x_TH.rows(rows * context.group_rank(GroupKind::kTp).value, rows);
}

std::vector<double> own_tokens(const RankContext& context, const std::vector<double>& all) {
  if (context.mappings.enter == MappingKind::kCopy) return all;
  const std::size_t count =
      all.size() / static_cast<std::size_t>(context.group_size(GroupKind::kTp));
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(
                                       count * static_cast<std::size_t>(context.rank.value));
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

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
  const Tensor w2_own =
      reals_from_host(context.ops, DType::kF64, w2_columns, {kHidden, kFfn / tp}, "test");
  const Tensor b1 = known_tensor(context, {kFfn}, 7);
  const Parameter fc1{.id = {0}, .value = w1.rows(r * kFfn / tp, kFfn / tp)};
  const Parameter fc1_bias{.id = {1}, .value = b1.rows(r * kFfn / tp, kFfn / tp)};
  const Parameter fc2{.id = {2}, .value = w2_own};
  const Parameter fc2_bias{.id = {3}, .value = known_tensor(context, {kHidden}, 8)};
  const ColumnParallelLinear column(context, "fc1", {.weight = fc1, .bias = fc1_bias});
  const RowParallelLinear row(context, "fc2", {.weight = fc2, .bias = fc2_bias});
  Tape tape(context.ops);
  RecordingSink sink(context.ops);
  const Variable x = tape.input(own_tokens(context, known_tensor(context, {kTokens, kHidden}, 3)));
  const Variable y = row.forward(context, tape, silu(tape, column.forward(context, tape, x)));
  const Tensor dy = own_tokens(context, known_tensor(context, {kTokens, kHidden}, 4));
  const Tensor dx = tape.backward({&y, 1}, {&dy, 1}, {&x, 1}, sink)[0];
  return {.y = values_of(y.value), .dx = values_of(dx), .dbias = values_of(sink.gradients.at(3))};
}

TEST(ParallelLinear, AnyNumberOfRanksGivesOneRanksResult) {
  Outcome alone;
  spawn_contexts(layout_of({}), [&](const RankContext& context) { alone = mlp_on(context); });
  for (const int tp : {2, 3, 4}) {
    const auto report = spawn_contexts(layout_of({.tp = tp}), [&](const RankContext& context) {
      const Outcome outcome = mlp_on(context);
      EXPECT_LT(relative_error(outcome.y, alone.y), 1e-14);
      EXPECT_LT(relative_error(outcome.dx, alone.dx), 1e-14);
      EXPECT_LT(relative_error(outcome.dbias, alone.dbias), 1e-14) << "every rank has all of it";
    });
    EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
  }
}

TEST(ParallelLinear, UnderSequenceParallelismEachRankHasItsTokensAndATermOfTheBiasGradient) {
  Outcome alone;
  spawn_contexts(layout_of({}), [&](const RankContext& context) { alone = mlp_on(context); });
  for (const int tp : {2, 3}) {
    Layout layout = layout_of({.tp = tp});
    layout.sp = true;
    std::vector<double> dbias(static_cast<std::size_t>(kHidden));
    const auto report = spawn_contexts(layout, [&](const RankContext& context) {
      const Outcome outcome = mlp_on(context);
      EXPECT_LT(relative_error(outcome.y, own_tokens(context, alone.y)), 1e-14);
      EXPECT_LT(relative_error(outcome.dx, own_tokens(context, alone.dx)), 1e-14);
      for (std::size_t i = 0; i < dbias.size(); ++i) dbias[i] += outcome.dbias[i];
    });
    EXPECT_LT(relative_error(dbias, alone.dbias), 1e-14);
    EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
  }
}

enum class LogitsCut { kOverTp, kWhole };

CrossEntropyPlan cross_entropy_of(std::int64_t rows, int tp, LogitsCut cut) {
  CrossEntropyPlan plan{.width = rows * tp,
                        .num_real = kVocabulary,
                        .smoothing = {.weight = 0.25, .vocabulary = kVocabulary}};
  if (cut == LogitsCut::kWhole || tp == 1) return plan;
  plan.width = rows;
  plan.stride = rows;
  plan.max_group = GroupKind::kTp;
  plan.sums = {{.label = "forward.sum.cross_entropy"}};
  return plan;
}

// Embedding and loss on a vocabulary of 10 padded to a multiple of tp.
Outcome vocabulary_on(const RankContext& context, LogitsCut cut = LogitsCut::kOverTp) {
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
  const Parameter weight{
      .id = {0}, .value = reals_from_host(context.ops, DType::kF64, own, {rows, kHidden}, "test")};
  const VocabParallelEmbedding embed(context, "embedding", weight, shard);
  const ColumnParallelLinear head(context, "output_layer", {.weight = weight});
  const MappingSite gather(MappingKind::kGatherLast, GroupKind::kTp, "output_layer");
  const CrossEntropyPlan plan = cross_entropy_of(rows, tp, cut);
  const VocabParallelCrossEntropy loss(context, plan);
  const std::vector<std::int64_t> ids{0, 9, 4, 4, 7, 2};
  const std::vector<std::int64_t> targets{9, 0, 5, 4, 3, 8};
  const Tensor ids_T = integers_from_host(context.ops, ids, {kTokens}, "test");
  const Tensor labels_T = integers_from_host(context.ops, targets, {kTokens}, "test");
  Tape tape(context.ops);
  RecordingSink sink(context.ops);
  const Variable embedded = embed.forward(context, tape, ids_T);
  const Variable x = tape.input(embedded.value);
  Variable logits = head.forward(context, tape, x);
  if (cut == LogitsCut::kWhole) logits = apply(context, tape, gather, logits);
  const Variable losses = loss.forward(context, tape, logits, labels_T);
  const Tensor dloss = known_tensor(context, {kTokens}, 6);
  const Tensor dx = tape.backward({&losses, 1}, {&dloss, 1}, {&x, 1}, sink)[0];
  return {.y = values_of(losses.value), .dx = values_of(dx), .dbias = {}};
}

TEST(ParallelVocabulary, PaddingAndCutsDoNotChangeTheLoss) {
  Outcome alone;
  spawn_contexts(layout_of({}),
                 [&](const RankContext& context) { alone = vocabulary_on(context); });
  for (const int tp : {2, 3, 4, 7, 12}) {  // with 12, two ranks hold nothing but padding
    for (const LogitsCut cut : {LogitsCut::kOverTp, LogitsCut::kWhole}) {
      const auto report = spawn_contexts(layout_of({.tp = tp}), [&](const RankContext& context) {
        const Outcome outcome = vocabulary_on(context, cut);
        EXPECT_LT(relative_error(outcome.y, alone.y), 1e-14);
        EXPECT_LT(relative_error(outcome.dx, alone.dx), 1e-13);
      });
      EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
    }
  }
}

}  // namespace
}  // namespace lockstep
