// Which heads a tensor rank computes with.
#include "core/model/attention_heads.h"

#include <gtest/gtest.h>

#include "core/config/presets.h"

namespace lockstep {
namespace {

std::string text_of(std::int64_t tp, std::int64_t kv_heads) {
  Case c = preset_case("tiny-dense");  // 8 query heads
  c.layout.tp = tp;
  c.model.num_key_value_heads = kv_heads;
  return to_text(plan_heads(c));
}

TEST(HeadPlan, RanksWithKvHeadsOfTheirOwnShareNone) {
  EXPECT_EQ(text_of(2, 4), "heads: 4 queries and 2 kv a rank, 2 queries a kv group\n");
  EXPECT_EQ(text_of(4, 4), "heads: 2 queries and 1 kv a rank, 2 queries a kv group\n");
}

TEST(HeadPlan, NeighboursShareAKvHeadAndSplitItsQueries) {
  EXPECT_EQ(text_of(4, 2),
            "heads: 2 queries and 1 kv a rank, 4 queries a kv group\n"
            "heads.tp0: of kv group 0, queries from 0\n"
            "heads.tp1: of kv group 0, queries from 2\n"
            "heads.tp2: of kv group 1, queries from 0\n"
            "heads.tp3: of kv group 1, queries from 2\n");
}

TEST(HeadPlan, AModelWithoutAttentionHasNone) {
  EXPECT_EQ(to_text(plan_heads(preset_case("tiny-linear"))),
            "heads: 0 queries and 0 kv a rank, 0 queries a kv group\n");
}

}  // namespace
}  // namespace lockstep
