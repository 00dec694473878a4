// A rank of the world and a rank within a group are distinct types, never bare integers.
#pragma once

#include <compare>

namespace lockstep {

// Position of a process or fiber in the whole world, from 0.
struct Rank {
  int value = 0;
  auto operator<=>(const Rank&) const = default;
};

// Position of a member within one group, from 0, in the group's order.
struct GroupRank {
  int value = 0;
  auto operator<=>(const GroupRank&) const = default;
};

}  // namespace lockstep
