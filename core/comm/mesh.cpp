// Mesh: every group as the cross product of some axes, semantics, sections 1.1 to 1.3.
#include "core/comm/mesh.h"

#include <algorithm>

#include "core/base/errors.h"

namespace lockstep {
namespace {

struct MeshAxis {
  std::string name;
  int size = 1;
  int stride = 1;
};

// One factorisation of the world, axes from fastest to slowest.
class Factorisation {
 public:
  explicit Factorisation(std::vector<MeshAxis> axes) : axes_(std::move(axes)) {
    for (MeshAxis& axis : axes_) {
      axis.stride = world_;
      world_ *= axis.size;
    }
  }

  int world() const { return world_; }
  const std::vector<MeshAxis>& axes() const { return axes_; }

  // All groups in which the named axes vary; the others number the groups, earlier axes fastest.
  std::vector<Group> groups(GroupKind kind, const std::vector<std::string_view>& names) const {
    std::vector<Group> groups;
    std::vector<int> index_of_key(static_cast<std::size_t>(world_), -1);
    for (int rank = 0; rank < world_; ++rank) {
      int key = 0;  // the rank with its member axes set to 0
      for (const MeshAxis& axis : axes_) {
        const bool member = std::find(names.begin(), names.end(), axis.name) != names.end();
        if (!member) key += rank / axis.stride % axis.size * axis.stride;
      }
      int& index = index_of_key[static_cast<std::size_t>(key)];
      if (index < 0) {
        index = static_cast<int>(groups.size());
        groups.push_back({.kind = kind, .index = index, .ranks = {}});
      }
      groups[static_cast<std::size_t>(index)].ranks.push_back({rank});
    }
    return groups;
  }

 private:
  std::vector<MeshAxis> axes_;
  int world_ = 1;
};

std::vector<std::string> split_order(std::string_view order) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= order.size();) {
    const std::size_t end = std::min(order.find('-', begin), order.size());
    names.emplace_back(order.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

Factorisation factorise(std::string_view order, const std::vector<MeshAxis>& sizes) {
  std::vector<MeshAxis> axes;
  const std::vector<std::string> names = split_order(order);
  for (const std::string& name : names) {
    const auto found = std::find_if(
        sizes.begin(), sizes.end(), [&](const MeshAxis& axis) { return axis.name == name; });
    if (found != sizes.end()) axes.push_back(*found);
  }
  for (const MeshAxis& axis : sizes) {
    const bool listed = std::find(names.begin(), names.end(), axis.name) != names.end();
    if (!listed && axis.size > 1) {
      throw UsageError("rank order '" + std::string(order) + "' lacks axis '" + axis.name +
                       "' of size " + std::to_string(axis.size));
    }
  }
  return Factorisation(std::move(axes));
}

int size_of(std::int64_t size) { return static_cast<int>(size); }

// First and last stage of each pp group (one rank where there is one stage), or the first alone.
std::vector<Group> stage_groups(GroupKind kind, const std::vector<Group>& pipelines) {
  std::vector<Group> groups;
  for (const Group& pipeline : pipelines) {
    Group group{.kind = kind, .index = pipeline.index, .ranks = {pipeline.ranks.front()}};
    if (kind == GroupKind::kEmbedding && pipeline.size() > 1) {
      group.ranks.push_back(pipeline.ranks.back());
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

Mesh::Mesh(const Layout& layout, std::string_view order) {
  const Factorisation dense = factorise(order,
                                        {{.name = "tp", .size = size_of(layout.tp)},
                                         {.name = "cp", .size = size_of(layout.cp)},
                                         {.name = "dp", .size = size_of(layout.dp)},
                                         {.name = "pp", .size = size_of(layout.pp)}});
  // The expert factorisation reads the same order with etp for tp, edp for dp, and no cp.
  const Factorisation expert =
      factorise(order,
                {{.name = "tp", .size = size_of(expert_tensor_parallel(layout))},
                 {.name = "ep", .size = size_of(layout.ep)},
                 {.name = "dp", .size = size_of(expert_data_parallel(layout))},
                 {.name = "pp", .size = size_of(layout.pp)}});
  world_ = dense.world();
  if (expert.world() != world_) {
    throw UsageError("etp * ep * edp * pp is " + std::to_string(expert.world()) +
                     ", but the world has " + std::to_string(world_) + " ranks");
  }
  groups_.resize(kNumGroupKinds);
  const auto add = [this](GroupKind kind, std::vector<Group> groups) {
    groups_[static_cast<std::size_t>(kind)] = std::move(groups);
  };
  const auto add_dense = [&](GroupKind kind, const std::vector<std::string_view>& axes) {
    add(kind, dense.groups(kind, axes));
  };
  const auto add_expert = [&](GroupKind kind, const std::vector<std::string_view>& axes) {
    add(kind, expert.groups(kind, axes));
  };
  add_dense(GroupKind::kWorld, {"tp", "cp", "dp", "pp"});
  add_dense(GroupKind::kTp, {"tp"});
  add_dense(GroupKind::kCp, {"cp"});
  add_dense(GroupKind::kDp, {"dp"});
  add_dense(GroupKind::kDpCp, {"dp", "cp"});
  add_dense(GroupKind::kPp, {"pp"});
  add_dense(GroupKind::kTpCp, {"tp", "cp"});
  add_dense(GroupKind::kTpDp, {"tp", "dp"});
  add_dense(GroupKind::kTpDpCp, {"tp", "dp", "cp"});
  add_dense(GroupKind::kModel, {"tp", "pp"});
  for (const GroupKind kind : {GroupKind::kEmbedding, GroupKind::kPositionEmbedding}) {
    add(kind, stage_groups(kind, groups(GroupKind::kPp)));
  }
  add_expert(GroupKind::kEp, {"ep"});
  add_expert(GroupKind::kEtp, {"tp"});
  add_expert(GroupKind::kEdp, {"dp"});
  add_expert(GroupKind::kTpEp, {"tp", "ep"});
  add_expert(GroupKind::kTpEpPp, {"tp", "ep", "pp"});
  if (expert.groups(GroupKind::kPp, {"pp"}) != groups(GroupKind::kPp)) {
    throw UsageError("rank order '" + std::string(order) +
                     "' gives dense and expert parts different pipelines; it must end in pp");
  }
  index_ranks();
  for (const MeshAxis& axis : dense.axes()) add_coordinates(axis.name, axis.size, axis.stride);
  for (const MeshAxis& axis : expert.axes()) {
    if (axis.name == "pp") continue;
    add_coordinates(axis.name == "ep" ? "ep" : "e" + axis.name, axis.size, axis.stride);
  }
}

void Mesh::index_ranks() {
  for (const std::vector<Group>& groups : groups_) {
    std::vector<int>& of_rank = group_of_rank_.emplace_back(static_cast<std::size_t>(world_), -1);
    for (const Group& group : groups) {
      for (const Rank rank : group.ranks)
        of_rank[static_cast<std::size_t>(rank.value)] = group.index;
    }
  }
}

void Mesh::add_coordinates(const std::string& axis, int size, int stride) {
  std::vector<int> by_rank;
  for (int rank = 0; rank < world_; ++rank) by_rank.push_back(rank / stride % size);
  coordinates_.push_back({.axis = axis, .size = size, .by_rank = std::move(by_rank)});
}

const std::vector<Group>& Mesh::groups(GroupKind kind) const {
  return groups_[static_cast<std::size_t>(kind)];
}

const Group* Mesh::group_of(GroupKind kind, Rank rank) const {
  const int index =
      group_of_rank_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(rank.value)];
  return index < 0 ? nullptr : &groups(kind)[static_cast<std::size_t>(index)];
}

int Mesh::coordinate(Rank rank, std::string_view axis) const {
  for (const AxisCoordinates& coordinates : coordinates_) {
    if (coordinates.axis == axis) return coordinates.by_rank[static_cast<std::size_t>(rank.value)];
  }
  throw InternalError("the mesh has no axis '" + std::string(axis) + "'");
}

std::string Mesh::describe(Rank rank) const {
  std::string text;
  for (const AxisCoordinates& coordinates : coordinates_) {
    const bool dense = coordinates.axis.front() != 'e';
    if (!dense || coordinates.size == 1) continue;
    text += (text.empty() ? "" : ", ") + coordinates.axis + " " +
            std::to_string(coordinates.by_rank[static_cast<std::size_t>(rank.value)]);
  }
  return text.empty() ? "alone" : text;
}

}  // namespace lockstep
