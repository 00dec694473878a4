// Buffers, peers, splits and counts of one call.
#include "core/comm/call_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/base/errors.h"
#include "core/tensor/storage.h"

namespace lockstep {
namespace {

std::optional<std::string> wrong_buffer(const Buffer& buffer, std::string_view name) {
  if (buffer.count < 0 || buffer.offset < 0) {
    return fmt::format("{} has offset {} and count {}", name, buffer.offset, buffer.count);
  }
  if (buffer.count == 0) return std::nullopt;
  if (buffer.storage == nullptr) return fmt::format("{} of {} has no storage", name, buffer.count);
  const std::int64_t element = element_bytes(buffer.dtype);
  const std::int64_t held = buffer.storage->num_bytes();
  if ((buffer.offset + buffer.count) * element <= held) return std::nullopt;
  return fmt::format("{} ends at element {} of a storage '{}' of {}",
                     name,
                     buffer.offset + buffer.count,
                     buffer.storage->label(),
                     held / element);
}

struct Sides {
  bool input;
  bool output;
  bool input_splits;
  bool output_splits;
};

Sides sides_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return {.input = true, .output = true, .input_splits = false, .output_splits = false};
    case CollectiveKind::kReduceScatter:
      return {.input = true, .output = true, .input_splits = true, .output_splits = false};
    case CollectiveKind::kAllGather:
      return {.input = true, .output = true, .input_splits = false, .output_splits = true};
    case CollectiveKind::kAllToAll:
      return {.input = true, .output = true, .input_splits = true, .output_splits = true};
    case CollectiveKind::kBroadcast:
      return {.input = true, .output = true, .input_splits = false, .output_splits = false};
    case CollectiveKind::kSend:
      return {.input = true, .output = false, .input_splits = false, .output_splits = false};
    case CollectiveKind::kRecv:
      return {.input = false, .output = true, .input_splits = false, .output_splits = false};
    case CollectiveKind::kBarrier:
      return {.input = false, .output = false, .input_splits = false, .output_splits = false};
  }
  throw InternalError("unknown kind of collective");
}

struct SplitSide {
  std::string_view name;
  std::int64_t count;
  Splits splits;
  bool allowed;
};

std::optional<std::string> wrong_splits(const SplitSide& side, int size) {
  if (side.splits.empty()) return std::nullopt;
  if (!side.allowed) return fmt::format("takes no {} splits", side.name);
  if (static_cast<int>(side.splits.size()) != size) {
    return fmt::format(
        "{} splits are {}, the group has {} ranks", side.name, splits_to_text(side.splits), size);
  }
  if (std::any_of(side.splits.begin(), side.splits.end(), [](auto part) { return part < 0; })) {
    return fmt::format("{} splits {} hold a negative one", side.name, splits_to_text(side.splits));
  }
  const std::int64_t sum = std::accumulate(side.splits.begin(), side.splits.end(), std::int64_t{0});
  if (sum == side.count) return std::nullopt;
  return fmt::format("{} splits {} add up to {}, the {} has {} elements",
                     side.name,
                     splits_to_text(side.splits),
                     sum,
                     side.name,
                     side.count);
}

// `part` is one rank's share of `whole`.
std::optional<std::string> wrong_share(const SplitSide& whole,
                                       const SplitSide& part,
                                       GroupRank me,
                                       int size) {
  const std::int64_t wanted =
      whole.splits.empty() ? whole.count : whole.splits[static_cast<std::size_t>(me.value)];
  const std::int64_t given = whole.splits.empty() ? part.count * size : part.count;
  if (wanted == given) return std::nullopt;
  if (whole.splits.empty()) {
    return fmt::format("{} has {} elements and {} {}, for {} equal parts",
                       whole.name,
                       whole.count,
                       part.name,
                       part.count,
                       size);
  }
  return fmt::format(
      "{} has {} elements where this rank's split is {}", part.name, part.count, wanted);
}

std::optional<std::string> wrong_counts(const CollectiveCall& call, GroupRank me, int size) {
  const SplitSide input{"input", call.input.count, call.input_splits, true};
  const SplitSide output{"output", call.output.count, call.output_splits, true};
  switch (call.kind) {
    case CollectiveKind::kAllReduce:
      if (call.input.count == call.output.count) return std::nullopt;
      break;
    case CollectiveKind::kReduceScatter:
      return wrong_share(input, output, me, size);
    case CollectiveKind::kAllGather:
      return wrong_share(output, input, me, size);
    case CollectiveKind::kAllToAll:
      for (const SplitSide& side : {input, output}) {
        if (side.splits.empty() && side.count % size != 0) {
          return fmt::format(
              "{} of {} elements has no {} equal parts", side.name, side.count, size);
        }
      }
      return std::nullopt;
    case CollectiveKind::kBroadcast:
      if (me != call.peer || call.input.count == call.output.count) return std::nullopt;
      break;
    case CollectiveKind::kSend:
    case CollectiveKind::kRecv:
    case CollectiveKind::kBarrier:
      return std::nullopt;
  }
  return fmt::format("input has {} elements and output {}", call.input.count, call.output.count);
}

bool has_peer(CollectiveKind kind) {
  return is_message(kind) || kind == CollectiveKind::kBroadcast;
}

}  // namespace

bool is_message(CollectiveKind kind) {
  return kind == CollectiveKind::kSend || kind == CollectiveKind::kRecv;
}

bool reduces(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter;
}

std::optional<std::string> why_wrong(const CollectiveCall& call, GroupRank me, int size) {
  const Sides sides = sides_of(call.kind);
  if (const auto wrong = wrong_buffer(call.input, "input")) return wrong;
  if (const auto wrong = wrong_buffer(call.output, "output")) return wrong;
  if (!sides.input && call.input.count != 0) {
    return fmt::format("takes no input, got one of {} elements", call.input.count);
  }
  if (!sides.output && call.output.count != 0) {
    return fmt::format("takes no output, got one of {} elements", call.output.count);
  }
  if (has_peer(call.kind) && (call.peer.value < 0 || call.peer.value >= size)) {
    return fmt::format("peer {} is not within the group of {}", call.peer.value, size);
  }
  const bool reads_input = call.kind != CollectiveKind::kBroadcast || me == call.peer;
  if (sides.input && sides.output && reads_input && call.input.dtype != call.output.dtype) {
    return fmt::format(
        "input is {} and output {}", name_of(call.input.dtype), name_of(call.output.dtype));
  }
  const SplitSide input{"input", call.input.count, call.input_splits, sides.input_splits};
  const SplitSide output{"output", call.output.count, call.output_splits, sides.output_splits};
  if (const auto wrong = wrong_splits(input, size)) return wrong;
  if (const auto wrong = wrong_splits(output, size)) return wrong;
  return wrong_counts(call, me, size);
}

std::int64_t part_count(const Buffer& buffer, Splits splits, const Part& part) {
  return splits.empty() ? buffer.count / static_cast<std::int64_t>(part.of) : splits[part.index];
}

std::int64_t part_offset(const Buffer& buffer, Splits splits, const Part& part) {
  if (splits.empty()) {
    return buffer.count / static_cast<std::int64_t>(part.of) *
           static_cast<std::int64_t>(part.index);
  }
  const auto end = splits.begin() + static_cast<std::ptrdiff_t>(part.index);
  return std::accumulate(splits.begin(), end, std::int64_t{0});
}

std::string splits_to_text(Splits splits) {
  constexpr std::size_t kMaxShown = 16;
  std::string text;
  for (std::size_t i = 0; i < std::min(splits.size(), kMaxShown); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", splits[i]);
  }
  return splits.size() > kMaxShown ? fmt::format("[{}, ...]", text) : fmt::format("[{}]", text);
}

}  // namespace lockstep
