// Every logical element counted once, whatever the layout; what a wrong plan would count.
#include "core/train/counts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/errors.h"
#include "core/config/presets.h"
#include "core/model/describe_model.h"
#include "core/ops/host.h"
#include "tests/core/train/two_parameters.h"
#include "tests/support/rank_fixture.h"

namespace lockstep {
namespace {

Case small_case(std::int64_t tp) {
  Case c = preset_case("tiny-linear");
  c.model.num_hidden_layers = 1;
  c.layout.tp = tp;
  return c;
}

std::string text_of(const Case& c) {
  return to_text(plan_count(describe_model(c.model, c.layout), c.layout, "grad_norm"));
}

TEST(CountPlan, GoldenTextOnOneRank) {
  EXPECT_EQ(
      text_of(small_case(1)),
      "grad_norm.total: from 0\n"
      "grad_norm.embedding.word_embeddings.weight: parameter 0, 90 rows of dim 0 over tp in 1 "
      "of 96\n"
      "grad_norm.decoder.layers.0.mlp.linear_fc1.layer_norm_weight: parameter 1\n"
      "grad_norm.decoder.layers.0.mlp.linear_fc1.weight: parameter 2\n"
      "grad_norm.decoder.layers.0.mlp.linear_fc2.weight: parameter 3\n"
      "grad_norm.decoder.final_layernorm.weight: parameter 4\n"
      "grad_norm.output_layer.weight: parameter 5, 90 rows of dim 0 over tp in 1 of 96\n");
}

TEST(CountPlan, GoldenTextOnFourTensorParallelRanks) {
  EXPECT_EQ(
      text_of(small_case(4)),
      "grad_norm.total: from 0\n"
      "grad_norm.embedding.word_embeddings.weight: parameter 0, 90 rows of dim 0 over tp in 4 "
      "of 24\n"
      "grad_norm.decoder.layers.0.mlp.linear_fc1.layer_norm_weight: parameter 1 on the first "
      "rank of tp\n"
      "grad_norm.decoder.layers.0.mlp.linear_fc1.weight: parameter 2\n"
      "grad_norm.decoder.layers.0.mlp.linear_fc2.weight: parameter 3\n"
      "grad_norm.decoder.final_layernorm.weight: parameter 4 on the first rank of tp\n"
      "grad_norm.output_layer.weight: parameter 5, 90 rows of dim 0 over tp in 4 of 24\n"
      "grad_norm.sum: over mp\n");
}

TEST(CountPlan, PaddingInAnInnerDimIsRefused) {
  ParameterTable table = test::two_parameters(2);
  table[0].cut->dim = 1;
  EXPECT_THROW(plan_count(table, test::layout_of({.tp = 2}), "grad_norm"), InternalError);
}

TEST(CountPlan, EachUseHasATotalOfItsOwn) {
  const Case c = small_case(1);
  const auto total = [&](std::string_view area) {
    return plan_count(describe_model(c.model, c.layout), c.layout, area).total_label;
  };
  EXPECT_EQ(total("grad_norm"), "grad_norm.total");
  EXPECT_EQ(total("param_norm"), "param_norm.total");
}

struct Counts {
  double norm = 0.0;
  std::int64_t zeros = 0;
};

// `cut` is 1, 2, ... over its real elements and NaN in its padded row, `whole` is (0, 3, 4).
std::vector<Counts> counts_on(const Layout& layout, const CountPlan& plan) {
  std::vector<Counts> counts(static_cast<std::size_t>(layout.tp * layout.dp));
  const ParameterTable table = test::two_parameters(layout.tp);
  const auto report = test::spawn_contexts(layout, [&](const RankContext& context) {
    const int tp = context.group_rank(GroupKind::kTp).value;
    const std::int64_t rows = local_shape(table[0])[0];
    std::vector<double> values;
    for (std::int64_t i = tp * rows * 2; i < (tp + 1) * rows * 2; ++i) {
      const bool is_real = i < 10;
      values.push_back(is_real ? static_cast<double>(i + 1)
                               : std::numeric_limits<double>::quiet_NaN());
    }
    const std::vector<double> whole{0.0, 3.0, 4.0};
    const OpContext& ops = context.ops;
    const std::vector<Tensor> tensors{
        reals_from_host(ops, ops.dtype, values, {rows, 2}, "test.cut"),
        reals_from_host(ops, ops.dtype, whole, {3}, "test.whole")};
    counts[static_cast<std::size_t>(context.rank.value)] = {
        .norm = norm(context, plan, tensors), .zeros = num_zeros(context, plan, tensors)};
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
  return counts;
}

// 1 + 4 + ... + 100 + 9 + 16
const double kNorm = std::sqrt(385.0 + 25.0);

TEST(Count, EveryLogicalElementCountsOnceOnEveryLayoutAndOnEveryRank) {
  for (const int tp : {1, 2, 4}) {
    for (const int dp : {1, 2}) {
      const Layout layout = test::layout_of({.tp = tp, .dp = dp});
      const CountPlan plan = plan_count(test::two_parameters(tp), layout, "grad_norm");
      for (const Counts& counts : counts_on(layout, plan)) {
        EXPECT_EQ(counts.norm, kNorm) << "tp " << tp << " dp " << dp;
        EXPECT_EQ(counts.zeros, 1) << "tp " << tp << " dp " << dp;
      }
    }
  }
}

TEST(Count, WithoutTheFilterACopyIsCountedOnEachRank) {
  const Layout layout = test::layout_of({.tp = 2});
  CountPlan plan = plan_count(test::two_parameters(2), layout, "grad_norm");
  plan.entries[1].copies = {};
  EXPECT_EQ(counts_on(layout, plan)[0].norm, std::sqrt(385.0 + 50.0));
  EXPECT_EQ(counts_on(layout, plan)[0].zeros, 2);
}

TEST(Count, WithTheFilterOnAPartTheOtherRanksPartsAreLost) {
  const Layout layout = test::layout_of({.tp = 2});
  CountPlan plan = plan_count(test::two_parameters(2), layout, "grad_norm");
  plan.entries[0].copies = GroupKind::kTp;
  EXPECT_EQ(counts_on(layout, plan)[0].norm, std::sqrt(91.0 + 25.0));
}

TEST(Count, WithoutTheSumEachRankHasAShareOfItsOwn) {
  const Layout layout = test::layout_of({.tp = 2});
  CountPlan plan = plan_count(test::two_parameters(2), layout, "grad_norm");
  plan.sums.clear();
  const std::vector<Counts> counts = counts_on(layout, plan);
  EXPECT_EQ(counts[0].norm, std::sqrt(91.0 + 25.0));
  EXPECT_EQ(counts[1].norm, std::sqrt(294.0));
}

TEST(Count, PaddingThatIsCountedShows) {
  const Layout layout = test::layout_of({.tp = 2});
  CountPlan plan = plan_count(test::two_parameters(2), layout, "grad_norm");
  plan.entries[0].real = {};
  EXPECT_TRUE(std::isnan(counts_on(layout, plan)[0].norm));
}

}  // namespace
}  // namespace lockstep
