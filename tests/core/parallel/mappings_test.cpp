// Each mapping's backward is the adjoint of its forward: <A x, y> = <x, A^T y> over all ranks.
#include "core/parallel/mappings.h"

#include <gtest/gtest.h>

#include "core/ops/elementwise.h"
#include "core/ops/host.h"
#include "tests/support/op_fixture.h"
#include "tests/support/rank_fixture.h"

namespace lockstep {
namespace {

using test::inner;
using test::known_tensor;
using test::layout_of;
using test::spawn_contexts;

constexpr std::uint64_t kForwardStream = 100;
constexpr std::uint64_t kBackwardStream = 200;

// Copies and slices act on a value that all ranks share: seen as one vector that every rank reads,
// its gradient is one vector too, and all ranks have it whole.
bool takes_a_shared_value(MappingKind kind) {
  switch (kind) {
    case MappingKind::kCopy:
    case MappingKind::kScatterLast:
    case MappingKind::kScatterRows:
      return true;
    case MappingKind::kReduce:
    case MappingKind::kGatherLast:
    case MappingKind::kGatherLastReduce:
    case MappingKind::kGatherRows:
    case MappingKind::kGatherRowsSlice:
    case MappingKind::kReduceScatterRows:
    case MappingKind::kGatherKeys:
    case MappingKind::kTokensToHeads:
    case MappingKind::kHeadsToTokens:
      return false;
  }
  return false;
}

// Reductions and gathers whose backward does not communicate give a value that all ranks share: it
// has one gradient, not one a rank.
bool gives_a_shared_value(MappingKind kind) {
  switch (kind) {
    case MappingKind::kReduce:
    case MappingKind::kGatherLast:
    case MappingKind::kGatherRowsSlice:
      return true;
    case MappingKind::kCopy:
    case MappingKind::kScatterLast:
    case MappingKind::kScatterRows:
    case MappingKind::kGatherLastReduce:
    case MappingKind::kGatherRows:
    case MappingKind::kReduceScatterRows:
    case MappingKind::kGatherKeys:
    case MappingKind::kTokensToHeads:
    case MappingKind::kHeadsToTokens:
      return false;
  }
  return false;
}

struct Products {
  double forward = 0.0;   // <A x, y>, a shared vector counted once
  double backward = 0.0;  // <x, A^T y>
};

bool is_over_cp(MappingKind kind) {
  return kind == MappingKind::kGatherKeys || kind == MappingKind::kTokensToHeads ||
         kind == MappingKind::kHeadsToTokens;
}

Products products_of(MappingKind kind, int size) {
  std::vector<double> forward(static_cast<std::size_t>(size));
  std::vector<double> backward(static_cast<std::size_t>(size));
  const Layout layout = is_over_cp(kind) ? layout_of({.cp = size}) : layout_of({.tp = size});
  const auto report = spawn_contexts(layout, [&](const RankContext& context) {
    const auto rank = static_cast<std::uint64_t>(context.rank.value);
    const Mapping& mapping = context.mappings.of(kind);
    const GroupKind group = is_over_cp(kind) ? GroupKind::kCp : GroupKind::kTp;
    const CollectiveSite site{.group = group, .label = "test.adjoint"};
    const Tensor x =
        known_tensor(context, {12, 24}, kForwardStream + (takes_a_shared_value(kind) ? 0 : rank));
    const Tensor ax = mapping.forward(context, site, x);
    const Tensor y =
        known_tensor(context, ax.shape, kBackwardStream + (gives_a_shared_value(kind) ? 0 : rank));
    const Tensor aty = mapping.backward(context, site, y);
    EXPECT_EQ(aty.shape, x.shape);
    forward[rank] = inner(ax, y);
    backward[rank] = inner(x, aty);
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
  Products products;
  for (int rank = 0; rank < size; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    if (rank == 0 || !gives_a_shared_value(kind)) products.forward += forward[index];
    if (rank == 0 || !takes_a_shared_value(kind)) products.backward += backward[index];
  }
  return products;
}

class EachMapping : public testing::TestWithParam<int> {};

TEST_P(EachMapping, HasItsAdjointAsBackward) {
  const auto kind = static_cast<MappingKind>(GetParam());
  for (const int size : {1, 2, 3, 4}) {
    const Products products = products_of(kind, size);
    EXPECT_NE(products.forward, 0.0);
    EXPECT_NEAR(products.forward, products.backward, 1e-11) << size << " ranks";
  }
}

INSTANTIATE_TEST_SUITE_P(Mappings,
                         EachMapping,
                         testing::Range(0, kNumMappings),
                         [](const testing::TestParamInfo<int>& kind) {
                           return std::string(name_of(static_cast<MappingKind>(kind.param)));
                         });

TEST(Mappings, TextNamesEachEntry) {
  Layout layout = layout_of({.tp = 2});
  EXPECT_EQ(to_text(plan_mappings(layout)),
            "mapping.copy = copy\n"
            "mapping.reduce = reduce\n"
            "mapping.scatter_last = scatter_last\n"
            "mapping.gather_last = gather_last\n"
            "mapping.gather_last_reduce = gather_last_reduce\n"
            "mapping.scatter_rows = scatter_rows\n"
            "mapping.gather_rows = gather_rows\n"
            "mapping.gather_rows_slice = gather_rows_slice\n"
            "mapping.reduce_scatter_rows = reduce_scatter_rows\n"
            "mapping.gather_keys = identity\n"
            "mapping.tokens_to_heads = identity\n"
            "mapping.heads_to_tokens = identity\n"
            "mapping.enter = copy\n"
            "mapping.leave = reduce\n"
            "row bias after leaving\n");
  layout.sp = true;
  const std::string text = to_text(plan_mappings(layout));
  EXPECT_NE(text.find("mapping.enter = gather_rows\nmapping.leave = reduce_scatter_rows\n"),
            std::string::npos)
      << text;
  layout.sp = false;
  layout.tp = 1;
  EXPECT_EQ(plan_mappings(layout).of(MappingKind::kCopy).name, "identity");
}

TEST(Mappings, ThoseOverCpAndThoseOverTpAreSwitchedApart) {
  const std::string text = to_text(plan_mappings(layout_of({.cp = 2})));
  EXPECT_NE(text.find("mapping.copy = identity\n"), std::string::npos) << text;
  EXPECT_NE(text.find("mapping.gather_keys = gather_keys\n"
                      "mapping.tokens_to_heads = tokens_to_heads\n"
                      "mapping.heads_to_tokens = heads_to_tokens\n"),
            std::string::npos)
      << text;
}

// Columns 0 to 3 of rank r's two tokens: 100 r + 10 token + column.
std::vector<double> tokens_of(int r) {
  std::vector<double> values;
  for (int token = 0; token < 2; ++token) {
    for (int column = 0; column < 4; ++column) values.push_back(100 * r + 10 * token + column);
  }
  return values;
}

TEST(Mappings, TokensAreExchangedForHeadsInTheOrderOfRanksAndBack) {
  const Layout layout = layout_of({.tp = 2, .cp = 2});
  const auto report = spawn_contexts(layout, [](const RankContext& context) {
    const int r = context.group_rank(GroupKind::kCp).value;
    const Tensor x = reals_from_host(context.ops, DType::kF64, tokens_of(r), {2, 4}, "test");
    const CollectiveSite site{.group = GroupKind::kCp, .label = "a"};
    const Mapping& mapping = context.mappings.of(MappingKind::kTokensToHeads);
    const Tensor heads = mapping.forward(context, site, x);
    EXPECT_EQ(heads.shape, (Shape{4, 2}));
    std::vector<double> expected;
    for (const int token : {0, 10, 100, 110}) {
      expected.push_back(token + 2 * r);
      expected.push_back(token + 2 * r + 1);
    }
    EXPECT_EQ(test::values_of(heads), expected);
    const Tensor back =
        context.mappings.of(MappingKind::kHeadsToTokens).forward(context, site, heads);
    EXPECT_EQ(back.shape, x.shape);
    EXPECT_EQ(test::values_of(back), tokens_of(r));
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
}

TEST(Mappings, ASitesLabelsNameMappingAndModule) {
  const MappingSite site(MappingKind::kCopy, GroupKind::kTp, "output_layer");
  EXPECT_EQ(site.forward_label, "forward.copy.output_layer");
  EXPECT_EQ(site.backward_label, "backward.copy.output_layer");
}

}  // namespace
}  // namespace lockstep
