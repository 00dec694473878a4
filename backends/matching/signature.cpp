// Signatures: kind, dtype, counts, op, root, label and the number of calls in a submit.
#include "backends/matching/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/comm/call_rules.h"

namespace lockstep::backends {
namespace {

bool same_splits(Splits a, Splits b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

// The first pair of members whose all_to_all parts differ.
std::string all_to_all_disagreement(const Meeting& meeting) {
  const std::size_t size = meeting.parties.size();
  for (std::size_t i = 0; i < meeting.parties.front().calls.size(); ++i) {
    if (call_of(meeting, 0, i).kind != CollectiveKind::kAllToAll) continue;
    for (std::size_t from = 0; from < size; ++from) {
      for (std::size_t to = 0; to < size; ++to) {
        const CollectiveCall& sent = call_of(meeting, from, i);
        const CollectiveCall& received = call_of(meeting, to, i);
        const std::int64_t has =
            part_count(sent.input, sent.input_splits, {.index = to, .of = size});
        const std::int64_t wants =
            part_count(received.output, received.output_splits, {.index = from, .of = size});
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

std::string difference(const Others& others, const std::vector<CollectiveCall>& calls) {
  const std::string_view have = others.is_one ? "has" : "have";
  if (others.calls.size() != calls.size()) {
    return fmt::format("{} calls in one submit where {} {} {}",
                       calls.size(),
                       others.name,
                       have,
                       others.calls.size());
  }
  std::string what;
  const auto add = [&](std::string_view name, const std::string& got, const std::string& wanted) {
    what += fmt::format(
        "{}{} {} where {} {} {}", what.empty() ? "" : ", ", name, got, others.name, have, wanted);
  };
  for (std::size_t i = 0; i < calls.size() && what.empty(); ++i) {
    const CollectiveCall& theirs = others.calls[i];
    const CollectiveCall& own = calls[i];
    if (theirs.kind != own.kind || theirs.label != own.label) {
      return fmt::format("{} '{}' where {} {} {} '{}'",
                         name_of(own.kind),
                         own.label,
                         others.name,
                         others.is_one ? "calls" : "call",
                         name_of(theirs.kind),
                         theirs.label);
    }
    if (theirs.output.dtype != own.output.dtype) {
      add("dtype",
          std::string(name_of(own.output.dtype)),
          std::string(name_of(theirs.output.dtype)));
    }
    if (reduces(theirs.kind) && theirs.op != own.op) {
      add("op", std::string(name_of(own.op)), std::string(name_of(theirs.op)));
    }
    if (theirs.kind == CollectiveKind::kBroadcast && theirs.peer != own.peer) {
      add("root", std::to_string(own.peer.value), std::to_string(theirs.peer.value));
    }
    if (theirs.kind == CollectiveKind::kAllToAll) continue;
    const bool by_input = theirs.kind == CollectiveKind::kReduceScatter;
    const std::int64_t wanted = by_input ? theirs.input.count : theirs.output.count;
    const std::int64_t got = by_input ? own.input.count : own.output.count;
    if (got != wanted) add("count", std::to_string(got), std::to_string(wanted));
    const Splits wanted_splits = by_input ? theirs.input_splits : theirs.output_splits;
    const Splits got_splits = by_input ? own.input_splits : own.output_splits;
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
