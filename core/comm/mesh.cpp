// Mesh: every group as the cross product of some axes, semantics, sections 1.1 to 1.3.
#include "core/comm/mesh.h"

#include <algorithm>
#include <initializer_list>

#include "core/base/errors.h"

namespace lockstep {
namespace {

// One axis of a factorisation.
struct MeshAxis {
  Axis axis;
  std::string_view name_in_order;
  std::int64_t size = 1;
  int stride = 1;
};

// The groups of a kind are those in which these axes vary.
struct GroupAxes {
  GroupKind kind;
  std::vector<Axis> axes;
};

std::vector<std::string_view> split_order(std::string_view order) {
  std::vector<std::string_view> names;
  for (std::size_t begin = 0; begin <= order.size();) {
    const std::size_t end = std::min(order.find('-', begin), order.size());
    names.push_back(order.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// One factorisation of the world, axes from fastest to slowest.
class Factorisation {
 public:
  Factorisation(std::string_view order, const std::vector<MeshAxis>& sizes) {
    const std::vector<std::string_view> names = split_order(order);
    for (const std::string_view name : names) {
      const auto found = std::find_if(sizes.begin(), sizes.end(), [&](const MeshAxis& axis) {
        return axis.name_in_order == name;
      });
      if (found == sizes.end()) continue;
      axes_.push_back(*found);
      axes_.back().stride = world_;
      world_ *= static_cast<int>(found->size);
    }
    for (const MeshAxis& axis : sizes) {
      const bool is_listed =
          std::find(names.begin(), names.end(), axis.name_in_order) != names.end();
      if (is_listed || axis.size == 1) continue;
      throw UsageError("rank order '" + std::string(order) + "' lacks axis '" +
                       std::string(axis.name_in_order) + "' of size " + std::to_string(axis.size));
    }
  }

  int world() const { return world_; }
  const std::vector<MeshAxis>& axes() const { return axes_; }

  // All groups of a kind, numbered by their lowest ranks.
  std::vector<Group> groups(const GroupAxes& members) const {
    std::vector<Group> groups;
    std::vector<int> index_of_lowest(static_cast<std::size_t>(world_), -1);
    for (int rank = 0; rank < world_; ++rank) {
      int& index = index_of_lowest[static_cast<std::size_t>(lowest_member(rank, members.axes))];
      if (index < 0) {
        index = static_cast<int>(groups.size());
        groups.push_back({.kind = members.kind, .index = index, .ranks = {}});
      }
      groups[static_cast<std::size_t>(index)].ranks.push_back({rank});
    }
    return groups;
  }

 private:
  // The rank with its coordinates on the members' axes set to 0.
  int lowest_member(int rank, const std::vector<Axis>& member_axes) const {
    int lowest = 0;
    for (const MeshAxis& axis : axes_) {
      if (std::find(member_axes.begin(), member_axes.end(), axis.axis) != member_axes.end()) {
        continue;
      }
      lowest += rank / axis.stride % static_cast<int>(axis.size) * axis.stride;
    }
    return lowest;
  }

  std::vector<MeshAxis> axes_;
  int world_ = 1;
};

Factorisation dense_factorisation(const Layout& layout, std::string_view order) {
  return {order,
          {{.axis = Axis::kTp, .name_in_order = "tp", .size = layout.tp},
           {.axis = Axis::kCp, .name_in_order = "cp", .size = layout.cp},
           {.axis = Axis::kDp, .name_in_order = "dp", .size = layout.dp},
           {.axis = Axis::kPp, .name_in_order = "pp", .size = layout.pp}}};
}

Factorisation expert_factorisation(const Layout& layout, std::string_view order) {
  return {order,
          {{.axis = Axis::kEtp, .name_in_order = "tp", .size = expert_tensor_parallel(layout)},
           {.axis = Axis::kEp, .name_in_order = "ep", .size = layout.ep},
           {.axis = Axis::kEdp, .name_in_order = "dp", .size = expert_data_parallel(layout)},
           {.axis = Axis::kPp, .name_in_order = "pp", .size = layout.pp}}};
}

std::vector<GroupAxes> dense_groups() {
  return {{GroupKind::kWorld, {Axis::kTp, Axis::kCp, Axis::kDp, Axis::kPp}},
          {GroupKind::kTp, {Axis::kTp}},
          {GroupKind::kCp, {Axis::kCp}},
          {GroupKind::kDp, {Axis::kDp}},
          {GroupKind::kDpCp, {Axis::kDp, Axis::kCp}},
          {GroupKind::kPp, {Axis::kPp}},
          {GroupKind::kTpCp, {Axis::kTp, Axis::kCp}},
          {GroupKind::kTpDp, {Axis::kTp, Axis::kDp}},
          {GroupKind::kTpDpCp, {Axis::kTp, Axis::kDp, Axis::kCp}},
          {GroupKind::kModel, {Axis::kTp, Axis::kPp}}};
}

std::vector<GroupAxes> expert_groups() {
  return {{GroupKind::kEp, {Axis::kEp}},
          {GroupKind::kEtp, {Axis::kEtp}},
          {GroupKind::kEdp, {Axis::kEdp}},
          {GroupKind::kTpEp, {Axis::kEtp, Axis::kEp}},
          {GroupKind::kTpEpPp, {Axis::kEtp, Axis::kEp, Axis::kPp}}};
}

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

// Each group in runs of `inner` ranks, or across them: the first of every run, the second, and on.
std::vector<Group> split_groups(GroupKind kind, const std::vector<Group>& whole, int inner) {
  std::vector<Group> groups;
  for (const Group& group : whole) {
    const bool across = kind == GroupKind::kCpOuter;
    const int size = across ? group.size() / inner : inner;
    for (int first = 0; first < group.size() / size; ++first) {
      Group part{.kind = kind, .index = static_cast<int>(groups.size()), .ranks = {}};
      for (int i = 0; i < size; ++i) {
        const int member = across ? i * inner + first : first * inner + i;
        part.ranks.push_back(group.ranks[static_cast<std::size_t>(member)]);
      }
      groups.push_back(std::move(part));
    }
  }
  return groups;
}

}  // namespace

Mesh::Mesh(const Layout& layout, std::string_view order) : groups_(kNumGroupKinds) {
  const Factorisation dense = dense_factorisation(layout, order);
  const Factorisation expert = expert_factorisation(layout, order);
  world_ = dense.world();
  if (expert.world() != world_) {
    throw UsageError("etp * ep * edp * pp is " + std::to_string(expert.world()) +
                     ", but the world has " + std::to_string(world_) + " ranks");
  }
  if (expert.groups({GroupKind::kPp, {Axis::kPp}}) != dense.groups({GroupKind::kPp, {Axis::kPp}})) {
    throw UsageError("rank order '" + std::string(order) +
                     "' gives dense and expert parts different pipelines; it must end in pp");
  }
  const auto set = [this](GroupKind kind, std::vector<Group> groups) {
    groups_[static_cast<std::size_t>(kind)] = std::move(groups);
  };
  for (const GroupAxes& row : dense_groups()) set(row.kind, dense.groups(row));
  for (const GroupAxes& row : expert_groups()) set(row.kind, expert.groups(row));
  for (const GroupKind kind : {GroupKind::kEmbedding, GroupKind::kPositionEmbedding}) {
    set(kind, stage_groups(kind, groups(GroupKind::kPp)));
  }
  // Where cp is not split, these are nobody's groups: each rank alone, without a communicator.
  const bool is_split = layout.cp > 1 && layout.cp_comm == CpComm::kAllToAllP2p;
  for (const GroupKind kind : {GroupKind::kCpInner, GroupKind::kCpOuter}) {
    set(kind,
        is_split ? split_groups(kind, groups(GroupKind::kCp), static_cast<int>(layout.cp_inner))
                 : dense.groups({kind, {}}));
  }
  index_ranks();
  for (const Factorisation* factorisation : {&dense, &expert}) {
    for (const MeshAxis& axis : factorisation->axes()) {
      extents_[static_cast<std::size_t>(axis.axis)] = {.size = static_cast<int>(axis.size),
                                                       .stride = axis.stride};
    }
  }
}

void Mesh::index_ranks() {
  for (const std::vector<Group>& groups : groups_) {
    std::vector<int>& of_rank = group_of_rank_.emplace_back(static_cast<std::size_t>(world_), -1);
    for (const Group& group : groups) {
      for (const Rank rank : group.ranks) {
        of_rank[static_cast<std::size_t>(rank.value)] = group.index;
      }
    }
  }
}

const std::vector<Group>& Mesh::groups(GroupKind kind) const {
  return groups_[static_cast<std::size_t>(kind)];
}

const Group* Mesh::group_of(GroupKind kind, Rank rank) const {
  const int index =
      group_of_rank_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(rank.value)];
  return index < 0 ? nullptr : &groups(kind)[static_cast<std::size_t>(index)];
}

int Mesh::coordinate(Rank rank, Axis axis) const {
  const Extent& extent = extents_[static_cast<std::size_t>(axis)];
  return rank.value / extent.stride % extent.size;
}

std::string Mesh::describe(Rank rank) const {
  std::string text;
  for (int index = 0; index < kNumDenseAxes; ++index) {
    const auto axis = static_cast<Axis>(index);
    if (extents_[static_cast<std::size_t>(index)].size == 1) continue;
    text += (text.empty() ? "" : ", ") + std::string(name_of(axis)) + " " +
            std::to_string(coordinate(rank, axis));
  }
  return text.empty() ? "alone" : text;
}

}  // namespace lockstep
