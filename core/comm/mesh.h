// The process groups of a layout: the dense factorisation tp cp dp pp and the expert one etp ep edp
// pp, in the rank order of semantics, section 1.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm/axis.h"
#include "core/comm/group.h"
#include "core/config/case.h"

namespace lockstep {

class Mesh {
 public:
  // `order` lists axes from fastest to slowest; the expert factorisation reads the same order with
  // etp for tp, edp for dp and no cp. UsageError where it lacks an axis larger than 1 or where the
  // two factorisations disagree about the world or about pp.
  explicit Mesh(const Layout& layout, std::string_view order = "tp-cp-ep-dp-pp");

  int world() const { return world_; }
  const std::vector<Group>& groups(GroupKind kind) const;
  // The group of that kind which holds the rank; none where no group does (embd on a middle stage).
  const Group* group_of(GroupKind kind, Rank rank) const;
  // Position on one axis, from 0; 0 on an axis of size 1.
  int coordinate(Rank rank, Axis axis) const;
  // "tp 1, dp 0": every dense axis larger than 1, "alone" in a world of 1.
  std::string describe(Rank rank) const;

 private:
  struct Extent {
    int size = 1;
    int stride = 1;  // ranks from one position on the axis to the next
  };

  void index_ranks();

  int world_ = 1;
  std::array<Extent, kNumAxes> extents_;         // by Axis
  std::vector<std::vector<Group>> groups_;       // by GroupKind
  std::vector<std::vector<int>> group_of_rank_;  // by GroupKind, then rank; -1 for none
};

}  // namespace lockstep
