// Which call is usual at some place of a group's order: what other groups and earlier rounds tell.
#pragma once

#include <optional>
#include <vector>

#include "backends/matching/rank_text.h"

namespace lockstep::backends {

PastCall past_call(const CollectiveCall& call);

// Channels of all groups of one kind; the first is the one that reports are about.
using Channels = std::vector<const Channel*>;

Channels siblings_of(const RankTexts& texts, const Meeting& meeting);

// The call of this number (from 1) in another group of the kind; none where no other is so far.
std::optional<PastCall> usual_elsewhere(const Channels& siblings, std::uint64_t number);
// What last followed, in this group, the call before that number.
std::optional<PastCall> usual_before(const Channels& siblings, std::uint64_t number);
// Whether a call under `second` has directly followed one under `first` in any group of the kind.
bool has_followed(const Channels& siblings, std::string_view first, std::string_view second);
// Whether any group of the kind has ever completed a call under that label.
bool has_called(const Channels& siblings, std::string_view label);

}  // namespace lockstep::backends
