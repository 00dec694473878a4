// Which attention heads each tensor rank computes with (semantics, section 2.9).
//
// With at least as many kv heads as ranks, a rank's columns of the fused projection are whole kv
// groups: its heads. With fewer, they are a piece of a group: the pieces are gathered, and each
// rank takes the k and v of the one group it shares with others, and its own part of the queries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/case.h"

namespace lockstep {

struct SharedHeads {
  std::int64_t group = 0;        // the kv group
  std::int64_t first_query = 0;  // of the group's query heads
};

struct HeadPlan {
  std::int64_t num_queries = 0;      // query heads of a rank
  std::int64_t num_kv = 0;           // kv heads of a rank
  std::int64_t group_queries = 0;    // query heads of a kv group
  std::vector<SharedHeads> sharers;  // by tp rank, where ranks share kv groups
};

HeadPlan plan_heads(const Case& c);
std::string to_text(const HeadPlan& plan);

}  // namespace lockstep
