// What a rank gives to a call and what it must get, by plain loops over all ranks' inputs.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/backends/conformance/call_case.h"

namespace lockstep::test {

// Of a message: the member at the other end.
struct Seat {
  const Group& group;
  GroupRank me;
  GroupRank peer = {};

  Rank rank_of(int member) const { return group.ranks[static_cast<std::size_t>(member)]; }
};

// In units, see elements.h.
std::vector<std::int64_t> input_of(const CallCase& call, const Seat& seat);
std::vector<std::int64_t> output_of(const CallCase& call, const Seat& seat);

GroupRank root_of(const CallCase& call, const Seat& seat);

// Elements before the part of this rank in the whole that it scatters or gathers, 0 for others.
std::int64_t own_part_offset(const CallCase& call, const Seat& seat);

// Of the parts that this rank sends to, or gets from, each member.
std::vector<std::int64_t> sent_parts(const CallCase& call, const Seat& seat);
std::vector<std::int64_t> received_parts(const CallCase& call, const Seat& seat);

}  // namespace lockstep::test
