// Mappings: differentiable collectives, each a forward and its backward (semantics, section 2.1).
#pragma once

#include <array>
#include <string>

#include "core/autograd/tape.h"
#include "core/config/case.h"
#include "core/parallel/collectives.h"

namespace lockstep {

// "last" is the last dim, "rows" is dim 0 (the sequence).
enum class MappingKind {
  kCopy,               // identity | all-reduce
  kReduce,             // all-reduce | identity
  kScatterLast,        // own slice | all-gather
  kGatherLast,         // all-gather | own slice
  kGatherLastReduce,   // all-gather | reduce-scatter
  kScatterRows,        // own slice | all-gather
  kGatherRows,         // all-gather | reduce-scatter
  kGatherRowsSlice,    // all-gather | own slice: only where all ranks have the same gradient
  kReduceScatterRows,  // reduce-scatter | all-gather
  // Of context parallelism, over cp.
  kGatherKeys,     // all-gather | reduce-scatter
  kTokensToHeads,  // all-to-all: some tokens of all columns to all tokens of some | its inverse
  kHeadsToTokens,  // the inverse | all-to-all
};
inline constexpr int kNumMappings = 12;

std::string_view name_of(MappingKind kind);  // copy, reduce, scatter_last ...

using MappingFunction = Tensor (*)(const RankContext&, const CollectiveSite&, const Tensor&);

struct Mapping {
  std::string name;  // of what it does now: the kind's, "identity", or a wrong variant's
  MappingFunction forward;
  MappingFunction backward;
};

// Where a row-parallel map adds its bias, which every rank holds whole.
enum class RowBias { kAfterLeaving, kBeforeLeaving };

// The mappings over tp and those over cp, by MappingKind, and which of them lead into and out of
// the regions that a column- and a row-parallel map enclose: under sequence parallelism tokens are
// cut outside them. A plan like any other: a wrong variant is an edit of it.
struct MappingTable {
  std::array<Mapping, kNumMappings> by_kind;
  MappingKind enter = MappingKind::kCopy;
  MappingKind leave = MappingKind::kReduce;
  RowBias row_bias = RowBias::kAfterLeaving;

  const Mapping& of(MappingKind kind) const { return by_kind[static_cast<std::size_t>(kind)]; }
  Mapping& of(MappingKind kind) { return by_kind[static_cast<std::size_t>(kind)]; }
};

// The true mappings; in a group of one rank all of them are the identity.
MappingTable plan_mappings(const Layout& layout);
std::string to_text(const MappingTable& table);

// Where a mapping is applied: its group and the labels of its two collectives.
struct MappingSite {
  MappingSite(MappingKind mapping_kind, GroupKind group_kind, const std::string& module);

  MappingKind kind;
  GroupKind group;
  std::string forward_label;   // forward.copy.decoder.layers.0.mlp.linear_fc1
  std::string backward_label;  // backward.copy.decoder.layers.0.mlp.linear_fc1
};

// The site and context outlive the tape.
Variable apply(const RankContext& context, Tape& tape, const MappingSite& site, const Variable& x);

}  // namespace lockstep
