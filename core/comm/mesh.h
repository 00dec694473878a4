// The process groups of a layout: the dense factorisation tp cp dp pp and the expert one etp ep edp
// pp, in the rank order of semantics, section 1.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm/group.h"
#include "core/config/case.h"

namespace lockstep {

class Mesh {
 public:
  // `order` lists axes from fastest to slowest. UsageError where it lacks an axis larger than 1 or
  // where dense and expert factorisations disagree about pp.
  explicit Mesh(const Layout& layout, std::string_view order = "tp-cp-ep-dp-pp");

  int world() const { return world_; }
  const std::vector<Group>& groups(GroupKind kind) const;
  // The group of that kind which holds the rank; none where no group does (embd on a middle stage).
  const Group* group_of(GroupKind kind, Rank rank) const;
  // Position on one axis of the dense or expert factorisation: tp cp dp pp, etp ep edp.
  int coordinate(Rank rank, std::string_view axis) const;
  // "tp 1, dp 0": every dense axis larger than 1, "alone" in a world of 1.
  std::string describe(Rank rank) const;

 private:
  struct AxisCoordinates {
    std::string axis;
    int size = 1;
    std::vector<int> by_rank;
  };

  void index_ranks();
  void add_coordinates(const std::string& axis, int size, int stride);

  int world_ = 1;
  std::vector<std::vector<Group>> groups_;       // by GroupKind
  std::vector<std::vector<int>> group_of_rank_;  // by GroupKind, then rank; -1 for none
  std::vector<AxisCoordinates> coordinates_;     // dense axes, then etp ep edp
};

}  // namespace lockstep
