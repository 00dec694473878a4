// What everybody is doing: the second half of a report, below the sentence that says what is wrong.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backends/matching/rank_text.h"

namespace lockstep::backends {

std::vector<Rank> ranks_with(const LedgerState& state, RankStatus status);

// A line for each deed, with the ranks that do it.
std::string deeds_text(const RankTexts& texts,
                       std::span<const Rank> ranks,
                       const std::function<std::string(Rank)>& deed_of);

// Who waits for what and whom it misses, then who goes on with what; empty where all have ended.
std::string whereabouts(const RankTexts& texts);

}  // namespace lockstep::backends
