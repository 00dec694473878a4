// Factors of cases, and the sizes that they stand for.
#include "tests/backends/conformance/call_case.h"

#include <fmt/format.h>

#include "core/base/errors.h"
#include "core/comm/call_rules.h"
#include "tests/backends/conformance/backends.h"

namespace lockstep::test {
namespace {

std::string_view name_of(Sizes sizes) {
  switch (sizes) {
    case Sizes::kEqual:
      return "equal";
    case Sizes::kEqualGiven:
      return "equal and given";
    case Sizes::kUneven:
      return "uneven";
    case Sizes::kSomeZero:
      return "some zero";
    case Sizes::kAllZero:
      return "all zero";
    case Sizes::kLarge:
      return "large";
  }
  throw InternalError("unknown sizes");
}

std::string_view name_of(Placement placement) {
  switch (placement) {
    case Placement::kApart:
      return "apart";
    case Placement::kViews:
      return "views";
    case Placement::kNeighbours:
      return "neighbours";
    case Placement::kInPlace:
      return "in place";
    case Placement::kShifted:
      return "shifted";
  }
  throw InternalError("unknown placement");
}

// Whether each pair of members has a part of its own, each member, or all share one count.
enum class Parts { kOfPairs, kOfMembers, kOfNone };

Parts parts_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllToAll:
      return Parts::kOfPairs;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllGather:
      return Parts::kOfMembers;
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kSend:
    case CollectiveKind::kRecv:
    case CollectiveKind::kBarrier:
      return Parts::kOfNone;
  }
  throw InternalError("unknown kind of collective");
}

std::int64_t common_count(Sizes sizes, int size) {
  switch (sizes) {
    case Sizes::kEqual:
    case Sizes::kEqualGiven:
      return 3 * size;
    case Sizes::kUneven:
      return 2 * size + 1;
    case Sizes::kSomeZero:
      return 1;
    case Sizes::kAllZero:
      return 0;
    case Sizes::kLarge:
      return 2500 + size;
  }
  throw InternalError("unknown sizes");
}

std::int64_t member_part(Sizes sizes, int member) {
  switch (sizes) {
    case Sizes::kEqual:
    case Sizes::kEqualGiven:
      return 3;
    case Sizes::kUneven:
      return 1 + (3 * member + 1) % 5;
    case Sizes::kSomeZero:
      return member % 2 == 0 ? 0 : 2 + member;
    case Sizes::kAllZero:
      return 0;
    case Sizes::kLarge:
      return 700 + 13 * member;
  }
  throw InternalError("unknown sizes");
}

std::int64_t pair_part(Sizes sizes, int from, int to) {
  switch (sizes) {
    case Sizes::kEqual:
    case Sizes::kEqualGiven:
      return 3;
    case Sizes::kUneven:
      return 1 + (2 * from + 3 * to + 1) % 5;
    case Sizes::kSomeZero:
      return (from + to) % 2 == 0 ? 0 : 1 + from + 2 * to;
    case Sizes::kAllZero:
      return 0;
    case Sizes::kLarge:
      return 300 + 7 * from + 11 * to;
  }
  throw InternalError("unknown sizes");
}

}  // namespace

std::string to_text(const CallCase& call) {
  return fmt::format("{}, {}, {}{}",
                     to_text(call.type),
                     name_of(call.sizes),
                     name_of(call.placement),
                     call.last_is_root ? ", last is root" : "");
}

CaseFactors factors_of(CollectiveKind kind) {
  CaseFactors factors{
      .dtypes = {DType::kF64, DType::kF32, DType::kBF16, DType::kI64},
      .ops = {ReduceOp::kSum},
      .sizes = {Sizes::kEqual, Sizes::kUneven, Sizes::kSomeZero, Sizes::kAllZero, Sizes::kLarge},
      .placements = {Placement::kApart,
                     Placement::kViews,
                     Placement::kNeighbours,
                     Placement::kInPlace,
                     Placement::kShifted},
      .last_is_root = {false}};
  if (reduces(kind)) factors.ops.push_back(ReduceOp::kMax);
  if (parts_of(kind) != Parts::kOfNone) factors.sizes.push_back(Sizes::kEqualGiven);
  if (kind == CollectiveKind::kBroadcast) factors.last_is_root.push_back(true);
  if (is_message(kind)) factors.placements = {Placement::kApart, Placement::kViews};
  return factors;
}

std::vector<int> num_values(const CaseFactors& factors) {
  return {static_cast<int>(factors.dtypes.size()),
          static_cast<int>(factors.ops.size()),
          static_cast<int>(factors.sizes.size()),
          static_cast<int>(factors.placements.size()),
          static_cast<int>(factors.last_is_root.size())};
}

CallCase case_of(CollectiveKind kind, const std::vector<int>& values, std::uint64_t seed) {
  const CaseFactors factors = factors_of(kind);
  const auto value = [&](std::size_t factor) { return static_cast<std::size_t>(values[factor]); };
  return {.type = {.kind = kind, .dtype = factors.dtypes[value(0)], .op = factors.ops[value(1)]},
          .sizes = factors.sizes[value(2)],
          .placement = factors.placements[value(3)],
          .last_is_root = factors.last_is_root[value(4)],
          .seed = seed};
}

std::int64_t part_size(const CallCase& call, const Ends& ends) {
  switch (parts_of(call.type.kind)) {
    case Parts::kOfPairs:
      return pair_part(call.sizes, ends.from, ends.to);
    case Parts::kOfMembers:
      return member_part(call.sizes,
                         call.type.kind == CollectiveKind::kReduceScatter ? ends.to : ends.from);
    case Parts::kOfNone:
      return common_count(call.sizes, ends.size);
  }
  throw InternalError("unknown kind of parts");
}

std::string_view label_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "conformance.all_reduce";
    case CollectiveKind::kReduceScatter:
      return "conformance.reduce_scatter";
    case CollectiveKind::kAllGather:
      return "conformance.all_gather";
    case CollectiveKind::kAllToAll:
      return "conformance.all_to_all";
    case CollectiveKind::kBroadcast:
      return "conformance.broadcast";
    case CollectiveKind::kSend:
      return "conformance.send";
    case CollectiveKind::kRecv:
      return "conformance.recv";
    case CollectiveKind::kBarrier:
      return "conformance.barrier";
  }
  throw InternalError("unknown kind of collective");
}

}  // namespace lockstep::test
