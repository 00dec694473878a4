// Signatures: kind, dtype, counts, op, root, label and the number of calls in a submit.
#include "backends/inprocess/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/tensor/storage.h"

namespace lockstep::backends {
namespace {

using Splits = std::span<const std::int64_t>;

std::string splits_to_text(Splits splits) {
  constexpr std::size_t kMaxShown = 16;
  std::string text;
  for (std::size_t i = 0; i < std::min(splits.size(), kMaxShown); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", splits[i]);
  }
  return splits.size() > kMaxShown ? fmt::format("[{}, ...]", text) : fmt::format("[{}]", text);
}

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
  return {};
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

bool same_splits(Splits a, Splits b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

bool has_peer(CollectiveKind kind) {
  return is_message(kind) || kind == CollectiveKind::kBroadcast;
}

std::int64_t part_of(const Buffer& buffer, Splits splits, std::size_t part, std::size_t size) {
  return splits.empty() ? buffer.count / static_cast<std::int64_t>(size) : splits[part];
}

// The first pair of members whose all_to_all parts differ.
std::string all_to_all_disagreement(const Meeting& meeting) {
  const std::size_t size = meeting.parties.size();
  for (std::size_t i = 0; i < meeting.parties.front().calls.size(); ++i) {
    if (call_of(meeting, 0, i).kind != CollectiveKind::kAllToAll) continue;
    for (std::size_t from = 0; from < size; ++from) {
      for (std::size_t to = 0; to < size; ++to) {
        const CollectiveCall& sent = call_of(meeting, from, i);
        const CollectiveCall& received = call_of(meeting, to, i);
        const std::int64_t has = part_of(sent.input, sent.input_splits, to, size);
        const std::int64_t wants = part_of(received.output, received.output_splits, from, size);
        if (has == wants) continue;
        return fmt::format(
            "in all_to_all '{}' rank {} sends {} elements to rank {}, which expects {}",
            sent.label,
            meeting.parties[from].rank.value,
            has,
            meeting.parties[to].rank.value,
            wants);
      }
    }
  }
  return {};
}

std::string message_disagreement(const Meeting& meeting) {
  const CollectiveCall& send = call_of(meeting, 0, 0);
  const CollectiveCall& recv = call_of(meeting, 1, 0);
  std::string what;
  if (send.tag != recv.tag) what += fmt::format(", tag {} where it expects {}", send.tag, recv.tag);
  if (send.input.count != recv.output.count) {
    what += fmt::format(", {} elements where it expects {}", send.input.count, recv.output.count);
  }
  if (send.input.dtype != recv.output.dtype) {
    what += fmt::format(
        ", {} where it expects {}", name_of(send.input.dtype), name_of(recv.output.dtype));
  }
  if (what.empty()) return what;
  return fmt::format("rank {} sends '{}' to rank {}, which receives it as '{}'{}",
                     meeting.parties[0].rank.value,
                     send.label,
                     meeting.parties[1].rank.value,
                     recv.label,
                     what);
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

bool agree(const std::vector<CollectiveCall>& a, const std::vector<CollectiveCall>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const CollectiveCall& x = a[i];
    const CollectiveCall& y = b[i];
    if (x.kind != y.kind || x.label != y.label) return false;
    if (x.output.dtype != y.output.dtype && x.kind != CollectiveKind::kBarrier) return false;
    if (reduces(x.kind) && x.op != y.op) return false;
    if (x.kind == CollectiveKind::kBroadcast && x.peer != y.peer) return false;
    if (x.kind == CollectiveKind::kAllToAll) continue;  // members' counts may differ
    if (x.kind == CollectiveKind::kReduceScatter) {
      if (x.input.count != y.input.count || !same_splits(x.input_splits, y.input_splits)) {
        return false;
      }
    } else if (x.output.count != y.output.count || !same_splits(x.output_splits, y.output_splits)) {
      return false;
    }
  }
  return true;
}

bool all_agree(const Meeting& meeting) {
  if (meeting.is_message) {
    const CollectiveCall& send = call_of(meeting, 0, 0);
    const CollectiveCall& recv = call_of(meeting, 1, 0);
    return send.tag == recv.tag && send.input.count == recv.output.count &&
           send.input.dtype == recv.output.dtype;
  }
  const std::vector<CollectiveCall>& calls = meeting.parties.front().calls;
  const bool any = std::any_of(calls.begin(), calls.end(), [](const CollectiveCall& call) {
    return call.kind == CollectiveKind::kAllToAll;
  });
  return !any || all_to_all_disagreement(meeting).empty();
}

std::string difference(const std::vector<CollectiveCall>& a,
                       const std::vector<CollectiveCall>& b,
                       const Others& others) {
  const std::string_view have = others.is_one ? "has" : "have";
  if (a.size() != b.size()) {
    return fmt::format(
        "{} calls in one submit where {} {} {}", b.size(), others.name, have, a.size());
  }
  std::string what;
  const auto add = [&](std::string_view name, const std::string& got, const std::string& wanted) {
    what += fmt::format(
        "{}{} {} where {} {} {}", what.empty() ? "" : ", ", name, got, others.name, have, wanted);
  };
  for (std::size_t i = 0; i < a.size() && what.empty(); ++i) {
    const CollectiveCall& x = a[i];
    const CollectiveCall& y = b[i];
    if (x.kind != y.kind || x.label != y.label) {
      return fmt::format("{} '{}' where {} {} {} '{}'",
                         name_of(y.kind),
                         y.label,
                         others.name,
                         others.is_one ? "calls" : "call",
                         name_of(x.kind),
                         x.label);
    }
    if (x.output.dtype != y.output.dtype) {
      add("dtype", std::string(name_of(y.output.dtype)), std::string(name_of(x.output.dtype)));
    }
    if (reduces(x.kind) && x.op != y.op) {
      add("op", std::string(name_of(y.op)), std::string(name_of(x.op)));
    }
    if (x.kind == CollectiveKind::kBroadcast && x.peer != y.peer) {
      add("root", std::to_string(y.peer.value), std::to_string(x.peer.value));
    }
    if (x.kind == CollectiveKind::kAllToAll) continue;
    const bool by_input = x.kind == CollectiveKind::kReduceScatter;
    const std::int64_t wanted = by_input ? x.input.count : x.output.count;
    const std::int64_t got = by_input ? y.input.count : y.output.count;
    if (got != wanted) add("count", std::to_string(got), std::to_string(wanted));
    const Splits wanted_splits = by_input ? x.input_splits : x.output_splits;
    const Splits got_splits = by_input ? y.input_splits : y.output_splits;
    if (!same_splits(wanted_splits, got_splits)) {
      add("splits", splits_to_text(got_splits), splits_to_text(wanted_splits));
    }
  }
  return what;
}

std::string disagreement(const Meeting& meeting) {
  return meeting.is_message ? message_disagreement(meeting) : all_to_all_disagreement(meeting);
}

std::string calls_to_text(const std::vector<CollectiveCall>& calls) {
  if (calls.empty()) return "nothing";
  std::string text = fmt::format("{} '{}'", name_of(calls.front().kind), calls.front().label);
  if (calls.size() > 1) text += fmt::format(" and {} more in one submit", calls.size() - 1);
  return text;
}

}  // namespace lockstep::backends
