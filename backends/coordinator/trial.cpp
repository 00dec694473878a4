// What ranks say, entered into the ledger, and when a trial is over.
#include "backends/coordinator/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/comm/call_rules.h"

namespace lockstep::backends {
namespace {

// How long ranks are listened to after one was lost: those that died of the same cause, and that
// cause, are heard of by then.
constexpr std::chrono::milliseconds kLossGrace{300};
// How long ranks may go on after calls that do not match.
constexpr std::chrono::milliseconds kMismatchGrace{2000};
constexpr std::chrono::milliseconds kLongestHeartbeat{1000};
constexpr std::chrono::milliseconds kShortestHeartbeat{5};

// What the ledger relies on and a client checks itself.
bool is_possible(const CollectiveCall& call, int size) {
  const bool has_peer = is_message(call.kind) || call.kind == CollectiveKind::kBroadcast;
  if (has_peer && (call.peer.value < 0 || call.peer.value >= size)) return false;
  if (call.input.count < 0 || call.output.count < 0) return false;
  for (const Splits splits : {call.input_splits, call.output_splits}) {
    if (!splits.empty() && std::ssize(splits) != size) return false;
    if (std::any_of(splits.begin(), splits.end(), [](auto part) { return part < 0; })) return false;
  }
  return true;
}

}  // namespace

std::chrono::milliseconds Trial::longest_silence(const TrialLimits& limits) {
  return limits.stall / 2;
}

std::chrono::milliseconds Trial::heartbeat_interval(const TrialLimits& limits) {
  return std::clamp(limits.stall / 8, kShortestHeartbeat, kLongestHeartbeat);
}

Trial::Trial(const Options& options, Time start)
    : options_(options),
      ledger_(options.mesh),
      started_(options.mesh.world(), options.processes),
      ranks_(static_cast<std::size_t>(options.mesh.world())),
      now_(start),
      last_event_(start) {
  for (RankBook& book : ranks_) book.heard = book.last_word = start;
}

void Trial::take(Rank rank, const FromRank& message, Time now) {
  RankBook& book = of(rank);
  now_ = book.heard = now;
  if (!std::holds_alternative<Heartbeat>(message)) {
    if (book.ended) throw ProtocolError("it went on after its program's end");
    last_event_ = book.last_word = now;
  }
  std::visit([&](const auto& its) { on(rank, its); }, message);
}

void Trial::on(Rank /*rank*/, const Hello& /*hello*/) {
  throw ProtocolError("it said who it is a second time");
}

void Trial::on(Rank rank, const Connect& connect) {
  try {
    of(rank).communicators.push_back(&ledger_.connect(rank, connect.group));
  } catch (const InternalError& error) {
    throw ProtocolError(error.what());
  }
}

Member& Trial::member(Rank rank, int communicator) {
  const std::vector<Member*>& communicators = of(rank).communicators;
  if (communicator < 0 || communicator >= std::ssize(communicators)) {
    throw ProtocolError(fmt::format(
        "it used communicator {}, having connected {}", communicator, communicators.size()));
  }
  return *communicators[static_cast<std::size_t>(communicator)];
}

void Trial::on(Rank rank, const Submit& submit) {
  Member& me = member(rank, submit.communicator);
  for (const CollectiveCall& call : submit.calls) {
    if (!is_possible(call, me.channel->group.size())) {
      throw ProtocolError(
          fmt::format("{} '{}' on {} has a peer, a count or splits that no call has",
                      name_of(call.kind),
                      call.label,
                      to_text(me.channel->group)));
    }
  }
  for (const Arrival& arrival : ledger_.submit(me, submit.calls)) {
    if (!arrival.completes) continue;
    const std::vector<Go> gos = started_.start(*arrival.meeting);
    for (std::size_t i = 0; i < gos.size(); ++i) {
      options_.send_go(arrival.meeting->parties[i].rank, gos[i]);
    }
  }
  if (!ledger_.state().mismatched.empty()) shorten(now_ + kMismatchGrace);
}

void Trial::on(Rank rank, const Wait& wait) {
  Member& me = member(rank, wait.communicator);
  if (of(rank).waited || wait.sequence < 1 || wait.sequence > me.num_submits) {
    throw ProtocolError(fmt::format("it waits in '{}' for submit {} of {}, of which there are {}",
                                    wait.label,
                                    wait.sequence,
                                    to_text(me.channel->group),
                                    me.num_submits));
  }
  const WaitedFor& waited = of(rank).waited.emplace(
      WaitedFor{.communicator = wait.communicator, .sequence = wait.sequence, .label = wait.label});
  ledger_.begin_wait(me, waited.sequence, waited.label);
  end_wait_if_done(rank);
}

void Trial::on(Rank rank, const Done& done) {
  if (!started_.done(rank, done.go)) throw ProtocolError("it did a call that it was not told to");
  end_wait_if_done(rank);
}

void Trial::end_wait_if_done(Rank rank) {
  RankBook& book = of(rank);
  if (!book.waited || ledger_.is_blocked(rank)) return;
  const WaitedFor& waited = *book.waited;
  if (started_.is_undone(rank, waited.communicator, waited.sequence)) return;
  Member& me = member(rank, waited.communicator);
  ledger_.finish_wait(me, links_of(me, waited.sequence));
  book.waited.reset();
}

void Trial::on(Rank rank, const Ended& ended) {
  RankBook& book = of(rank);
  book.ended = true;
  switch (ended.kind) {
    case EndKind::kReturned:
      book.result = ended.text;
      return ledger_.rank_returned(rank);
    case EndKind::kThrew:
      if (!book.waited || started_.undone(rank).empty()) {
        has_cause_ = true;
        return ledger_.rank_threw(rank, ended.text);
      }
      book.suspect = ended.text;
      return shorten(now_ + kLossGrace);
    case EndKind::kCancelled:
      has_cause_ = true;
      return ledger_.rank_threw(rank, "RankCancelled, though nothing had cancelled it");
  }
}

void Trial::lost(Rank rank, const std::string& how, Time now) {
  now_ = now;
  RankBook& book = of(rank);
  if (book.ended) return;
  book.ended = true;
  has_cause_ = true;
  ledger_.rank_lost(rank, how);
  shorten(now + kLossGrace);
}

void Trial::shorten(Time due) {
  if (!cut_off_ || *cut_off_ > due) cut_off_ = due;
}

// It stands in a call that one has left, or behind one: a process enqueues calls in their order.
bool Trial::is_stuck(Rank rank) const {
  if (!of(rank).waited || started_.undone(rank).empty()) return false;
  const StartedPart& next = started_.undone(rank).front();
  const std::vector<Rank>& undone = next.call->undone;
  if (std::any_of(undone.begin(), undone.end(), [&](Rank other) { return of(other).ended; })) {
    return true;
  }
  for (int i = 0; i < world(); ++i) {
    const auto& left = started_.undone(Rank{i});
    if (!of(Rank{i}).ended || left.empty()) continue;
    const bool is_of_one_process = started_.process_of(Rank{i}) == started_.process_of(rank);
    if (is_of_one_process && left.front().go.place < next.go.place) return true;
  }
  return false;
}

bool Trial::can_go_on(Rank rank) const {
  return !of(rank).ended && !ledger_.is_blocked(rank) && !is_stuck(rank);
}

bool Trial::nobody_can_go_on() const {
  for (int rank = 0; rank < world(); ++rank) {
    if (can_go_on(Rank{rank})) return false;
  }
  return true;
}

bool Trial::has_suspects() const {
  return std::any_of(
      ranks_.begin(), ranks_.end(), [](const RankBook& book) { return book.suspect.has_value(); });
}

bool Trial::is_over(Time now) const {
  // Of what a suspect says the cause may be on its way.
  const bool is_settled = has_cause_ || !has_suspects();
  return (is_settled && nobody_can_go_on()) || now >= due();
}

Trial::Time Trial::due() const {
  const Time stalled = last_event_ + options_.limits.stall;
  return cut_off_ ? std::min(stalled, *cut_off_) : stalled;
}

}  // namespace lockstep::backends
