// The plan of attention heads.
#include "core/model/attention_heads.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep {

HeadPlan plan_heads(const Case& c) {
  if (c.model.attention == Attention::kNone) return {};
  const std::int64_t tp = c.layout.tp;
  const std::int64_t kv_heads = c.model.num_key_value_heads;
  HeadPlan plan{.num_queries = c.model.num_attention_heads / tp,
                .num_kv = std::max<std::int64_t>(kv_heads / tp, 1),
                .group_queries = c.model.num_attention_heads / kv_heads,
                .sharers = {}};
  if (kv_heads >= tp) return plan;
  const std::int64_t num_sharers = tp / kv_heads;
  for (std::int64_t rank = 0; rank < tp; ++rank) {
    plan.sharers.push_back(
        {.group = rank / num_sharers, .first_query = rank % num_sharers * plan.num_queries});
  }
  return plan;
}

std::string to_text(const HeadPlan& plan) {
  std::string text = fmt::format("heads: {} queries and {} kv a rank, {} queries a kv group\n",
                                 plan.num_queries,
                                 plan.num_kv,
                                 plan.group_queries);
  for (std::size_t rank = 0; rank < plan.sharers.size(); ++rank) {
    text += fmt::format("heads.tp{}: of kv group {}, queries from {}\n",
                        rank,
                        plan.sharers[rank].group,
                        plan.sharers[rank].first_query);
  }
  return text;
}

}  // namespace lockstep
