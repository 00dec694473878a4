// The state of one group's communicators: what members have submitted and not yet waited for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/matching/meeting.h"

namespace lockstep::backends {

// A meeting that a ticket stands for; a submit with messages has several.
struct Link {
  std::uint64_t sequence;  // of the member's submit
  Meeting* meeting;
  std::size_t party;
};

struct Channel;

// One rank's side of a channel.
struct Member {
  Channel* channel = nullptr;
  Rank rank;
  GroupRank group_rank;
  int number = 0;  // which of the rank's connects, from 0
  bool connected = false;
  std::uint64_t num_submits = 0;
  std::uint64_t num_rounds = 0;  // submits that hold collectives
  std::vector<Link> links;       // not waited for, by sequence
  std::string message_label;     // of its last message
};

// The links of one submit. Usually it is the only one under way.
inline std::span<const Link> links_of(const Member& me, std::uint64_t sequence) {
  auto first = me.links.begin();
  while (first != me.links.end() && first->sequence < sequence) ++first;
  auto last = first;
  while (last != me.links.end() && last->sequence == sequence) ++last;
  return {first, last};
}

// The sends or the receives of one pair of members that have no other end yet, oldest first.
struct MessageQueue {
  std::vector<Meeting*> open;
  std::uint64_t num_sends = 0;
  std::uint64_t num_receives = 0;
};

// The first call of a round in which all members agreed.
struct PastCall {
  std::string_view label = {};  // empty of a round that did not match
  CollectiveKind kind = CollectiveKind::kBarrier;
  DType dtype = DType::kF64;
  ReduceOp op = ReduceOp::kSum;
  std::int64_t count = 0;  // 0 of an all_to_all: its members' counts differ

  bool operator==(const PastCall&) const = default;
};

// Rounds that a channel remembers.
inline constexpr std::size_t kMaxHistory = 1U << 16U;

struct Channel {
  // `group_ordinal` counts the communicators of one group, from 0.
  Channel(const Group& channel_group, int group_ordinal);

  // A meeting that nobody has come to, in its initial state: one given back, or a new one.
  Meeting& take_meeting(bool is_message, std::uint64_t number);
  void give_back(Meeting& meeting);
  // A copy that lives as long as the channel.
  std::string_view kept_label(std::string_view label);

  Group group;
  int ordinal = 0;
  std::uint64_t stream = 0;  // names the channel's random draws
  // Names its shuffled orders. The same for all groups of a kind: tensors that are equal in each of
  // them (a norm's gradient on every tp rank) must have equal sums, as one algorithm on equal
  // hardware gives.
  std::uint64_t order_stream = 0;
  std::vector<Member> members;
  std::vector<Meeting*> rounds;  // incomplete, oldest first
  std::uint64_t num_closed = 0;  // rounds in which all members have arrived
  std::set<std::string, std::less<>> labels;
  std::vector<PastCall> history;  // of each closed round: what is usual, for reports
  std::map<std::pair<int, int>, MessageQueue> messages;  // by sender and receiver
  std::vector<std::unique_ptr<Meeting>> meetings;
  std::vector<Meeting*> free_rounds;
  std::vector<Meeting*> free_messages;
};

enum class RankStatus {
  kRunning,
  kWaiting,  // blocked: a meeting that it waits for has not completed
  kReturned,
  kThrew,
  kCancelled,  // given up because of others
  kLost,       // its process or thread is gone
  kStalled,    // will not go on, for all one can tell
};

struct RankState {
  RankStatus status = RankStatus::kRunning;
  std::string error;  // what it threw, or how it was lost or has stalled
  // Of one that is in a wait, whether it is blocked there or its meetings have all completed.
  const Member* waits = nullptr;
  std::uint64_t sequence = 0;
  // These two of one that is blocked.
  std::string_view wait_label;
  int num_missing = 0;
  // The last call that it submitted; no group: none so far.
  const Group* last_group = nullptr;
  CollectiveKind last_kind = CollectiveKind::kBarrier;
  const std::string* last_label = nullptr;
};

// All that a diagnosis needs.
struct LedgerState {
  std::vector<RankState> ranks;
  std::map<std::pair<int, int>, std::vector<std::unique_ptr<Channel>>> channels;  // kind, index
  std::vector<const Meeting*> mismatched;
  std::int64_t num_calls = 0;
  std::int64_t num_matched = 0;
};

}  // namespace lockstep::backends
