// One loop a kind of collective; nothing of a backend, nor of the rules of calls, is used.
#include "tests/backends/conformance/expected.h"

#include <algorithm>
#include <numeric>

#include "core/base/errors.h"
#include "tests/backends/conformance/elements.h"

namespace lockstep::test {
namespace {

using Units = std::vector<std::int64_t>;

std::int64_t sum_of(const Units& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
}

// Elements [first, first + count) of a member's input.
Units stretch(
    const CallCase& call, const Seat& seat, int member, std::int64_t first, std::int64_t count) {
  Units units;
  for (std::int64_t i = first; i < first + count; ++i) {
    units.push_back(input_units(call.seed, seat.rank_of(member), i));
  }
  return units;
}

// Elements [first, first + count) of all members' inputs, reduced.
Units reduced(const CallCase& call, const Seat& seat, std::int64_t first, std::int64_t count) {
  Units result = stretch(call, seat, 0, first, count);
  for (int member = 1; member < seat.group.size(); ++member) {
    const Units other = stretch(call, seat, member, first, count);
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] =
          call.type.op == ReduceOp::kSum ? result[i] + other[i] : std::max(result[i], other[i]);
    }
  }
  return result;
}

// Of an all_to_all: from each member what it has for this one.
Units exchanged(const CallCase& call, const Seat& seat) {
  Units result;
  const int size = seat.group.size();
  for (int from = 0; from < size; ++from) {
    std::int64_t first = 0;
    for (int to = 0; to < seat.me.value; ++to) {
      first += part_size(call, {.from = from, .to = to, .size = size});
    }
    const std::int64_t count = part_size(call, {.from = from, .to = seat.me.value, .size = size});
    const Units part = stretch(call, seat, from, first, count);
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

Units gathered(const CallCase& call, const Seat& seat) {
  Units result;
  for (int from = 0; from < seat.group.size(); ++from) {
    const std::int64_t count = part_size(call, {.from = from, .size = seat.group.size()});
    const Units part = stretch(call, seat, from, 0, count);
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

}  // namespace

GroupRank root_of(const CallCase& call, const Seat& seat) {
  return {call.last_is_root ? seat.group.size() - 1 : 0};
}

Units sent_parts(const CallCase& call, const Seat& seat) {
  Units parts;
  const int size = seat.group.size();
  for (int to = 0; to < size; ++to) {
    parts.push_back(part_size(call, {.from = seat.me.value, .to = to, .size = size}));
  }
  return parts;
}

Units received_parts(const CallCase& call, const Seat& seat) {
  Units parts;
  const int size = seat.group.size();
  for (int from = 0; from < size; ++from) {
    parts.push_back(part_size(call, {.from = from, .to = seat.me.value, .size = size}));
  }
  return parts;
}

Units input_of(const CallCase& call, const Seat& seat) {
  std::int64_t count =
      part_size(call, {.from = seat.me.value, .to = seat.me.value, .size = seat.group.size()});
  switch (call.type.kind) {
    case CollectiveKind::kRecv:
    case CollectiveKind::kBarrier:
      return {};
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      count = sum_of(sent_parts(call, seat));
      break;
    case CollectiveKind::kBroadcast: {
      // What other ranks than the root pass is of no account, if they pass something at all.
      const bool passes = call.placement != Placement::kApart || seat.me == root_of(call, seat);
      if (!passes) count = 0;
      break;
    }
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kSend:
      break;
  }
  return stretch(call, seat, seat.me.value, 0, count);
}

Units output_of(const CallCase& call, const Seat& seat) {
  const std::int64_t count =
      part_size(call, {.from = seat.me.value, .to = seat.me.value, .size = seat.group.size()});
  switch (call.type.kind) {
    case CollectiveKind::kAllReduce:
      return reduced(call, seat, 0, count);
    case CollectiveKind::kReduceScatter:
      return reduced(call, seat, own_part_offset(call, seat), count);
    case CollectiveKind::kAllGather:
      return gathered(call, seat);
    case CollectiveKind::kAllToAll:
      return exchanged(call, seat);
    case CollectiveKind::kBroadcast:
      return stretch(call, seat, root_of(call, seat).value, 0, count);
    case CollectiveKind::kRecv:
      return stretch(call, seat, seat.peer.value, 0, count);
    case CollectiveKind::kSend:
    case CollectiveKind::kBarrier:
      return {};
  }
  throw InternalError("unknown kind of collective");
}

std::int64_t own_part_offset(const CallCase& call, const Seat& seat) {
  Units parts;
  if (call.type.kind == CollectiveKind::kReduceScatter) parts = sent_parts(call, seat);
  if (call.type.kind == CollectiveKind::kAllGather) parts = received_parts(call, seat);
  if (parts.empty()) return 0;
  return std::accumulate(parts.begin(), parts.begin() + seat.me.value, std::int64_t{0});
}

}  // namespace lockstep::test
