// Finds ranks that make a call on one group which the others make, and wait for, on another.
#pragma once

#include <string>
#include <vector>

#include "backends/matching/rank_text.h"

namespace lockstep::backends {

struct WrongGroup {
  Rank rank;
  const Link* link;         // its call
  const Meeting* expected;  // the others' calls, which miss it
};

std::vector<WrongGroup> wrong_groups(const RankTexts& texts);
std::string to_text(const RankTexts& texts, const WrongGroup& wrong);

}  // namespace lockstep::backends
