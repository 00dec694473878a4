// What must agree between the members of a meeting, and how reports tell what does not.
#pragma once

#include <string>
#include <vector>

#include "backends/matching/meeting.h"

namespace lockstep::backends {

// Whether two members' calls of one submit agree as far as two members can tell.
bool agree(const std::vector<CollectiveCall>& a, const std::vector<CollectiveCall>& b);
// Whether all members agree, once all have arrived: all_to_all's splits, a message's ends.
bool all_agree(const Meeting& meeting);

// The members that one is held against: their calls, and how a sentence names them.
struct Others {
  const std::vector<CollectiveCall>& calls;
  std::string name = "the others";
  bool is_one = false;
};

// What differs in `calls` from those of `others`, in words; empty where nothing does.
std::string difference(const Others& others, const std::vector<CollectiveCall>& calls);
// Of a meeting that all_agree refuses: who wants what.
std::string disagreement(const Meeting& meeting);

// all_reduce 'finalize.dp_sum.3', and " and 2 more" where one submit has several calls.
std::string calls_to_text(const std::vector<CollectiveCall>& calls);

}  // namespace lockstep::backends
