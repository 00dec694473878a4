// Submit, wait, and carry out in the coordinator's order.
#include "backends/gloo/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "backends/gloo/collectives.h"
#include "core/base/errors.h"
#include "core/comm/call_rules.h"

namespace lockstep::backends {
namespace {

class GlooCommunicator : public Communicator {
 public:
  explicit GlooCommunicator(GlooMember& member) : member_(member) {}

  const Group& group() const override { return member_.group; }
  Ticket submit(std::span<const CollectiveCall> calls) override {
    return {.source = &member_, .sequence = member_.transport->submit(member_, calls)};
  }

 private:
  GlooMember& member_;
};

std::vector<KeptCall> kept_calls(std::span<const CollectiveCall> calls) {
  std::vector<KeptCall> kept(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const CollectiveCall& call = calls[i];
    kept[i] = {.call = call,
               .label = std::string(call.label),
               .input_splits = {call.input_splits.begin(), call.input_splits.end()},
               .output_splits = {call.output_splits.begin(), call.output_splits.end()}};
    kept[i].call.label = kept[i].label;
    kept[i].call.input_splits = kept[i].input_splits;
    kept[i].call.output_splits = kept[i].output_splits;
  }
  return kept;
}

// Gloo's words without the place in its source: "[.../pair.cc:598] Connection closed by peer".
std::string_view without_place(std::string_view message) {
  const std::size_t end = message.find("] ");
  const bool has_place = message.starts_with('[') && end != std::string_view::npos;
  if (has_place) message.remove_prefix(end + 2);
  return message.substr(0, message.find('\n'));
}

}  // namespace

void GlooMember::wait(std::uint64_t sequence, Stream, std::string_view label) {
  transport->wait(*this, sequence, label);
}

GlooTransport::GlooTransport(CoordinatorClient& client,
                             GlooConnections::Impl& connections,
                             Rank rank)
    : client_(client), connections_(connections), rank_(rank) {}

GlooTransport::~GlooTransport() {
  for (const auto& member : members_) {
    if (!member->open.empty()) connections_.spoil();
  }
}

std::unique_ptr<Communicator> GlooTransport::connect(Rank rank, const Group& group) {
  LOCKSTEP_CHECK(
      rank == rank_,
      fmt::format("rank {} connects in the process of rank {}", rank.value, rank_.value));
  const std::optional<GroupRank> me = group.rank_of(rank);
  LOCKSTEP_CHECK(me.has_value(),
                 fmt::format("rank {} is no member of {}", rank.value, to_text(group)));
  auto member = std::make_unique<GlooMember>();
  member->transport = this;
  member->group = group;
  member->me = *me;
  member->number = client_.connect(group);
  LOCKSTEP_CHECK(member->number == static_cast<int>(members_.size()),
                 "the client numbers communicators from 0");
  members_.push_back(std::move(member));
  return std::make_unique<GlooCommunicator>(*members_.back());
}

std::uint64_t GlooTransport::submit(GlooMember& member, std::span<const CollectiveCall> calls) {
  const auto num_messages = std::count_if(
      calls.begin(), calls.end(), [](const CollectiveCall& call) { return is_message(call.kind); });
  for (const CollectiveCall& call : calls) check_call(member, call);
  client_.submit(member.number, calls);
  const std::uint64_t sequence = ++member.num_submits;
  const bool has_collectives = num_messages < std::ssize(calls);
  if (calls.empty()) return sequence;
  member.open[sequence] = {
      .calls = kept_calls(calls),
      .num_missing = static_cast<int>(num_messages) + (has_collectives ? 1 : 0)};
  return sequence;
}

void GlooTransport::check_call(const GlooMember& member, const CollectiveCall& call) const {
  std::optional<std::string> wrong = why_wrong(call, member.me, member.group.size());
  if (!wrong) {
    const DType dtype = call.kind == CollectiveKind::kSend ? call.input.dtype : call.output.dtype;
    const Support support = supports({.kind = call.kind, .dtype = dtype, .op = call.op});
    if (support.kind == SupportKind::kNone) wrong = fmt::format("Gloo cannot: {}", support.how);
  }
  if (!wrong) return;
  throw InternalError(fmt::format("rank {}: {} '{}' on {}: {}",
                                  rank_.value,
                                  name_of(call.kind),
                                  call.label,
                                  to_text(member.group),
                                  *wrong));
}

void GlooTransport::wait(GlooMember& member, std::uint64_t sequence, std::string_view label) {
  client_.wait(member.number, sequence, label);
  // A rank that is being unwound takes part in nothing more: nobody may block there.
  while (member.open.contains(sequence) && std::uncaught_exceptions() == 0) {
    carry_out(client_.next_go());
  }
}

void GlooTransport::carry_out(const Go& go) {
  LOCKSTEP_CHECK(
      go.communicator >= 0 && go.communicator < std::ssize(members_),
      fmt::format("told to go on communicator {} of {}", go.communicator, members_.size()));
  GlooMember& member = *members_[static_cast<std::size_t>(go.communicator)];
  const auto submission = member.open.find(go.sequence);
  LOCKSTEP_CHECK(
      submission != member.open.end() && go.message < std::ssize(submission->second.calls),
      fmt::format("told to go on call {} of submit {} on {}, which is not open",
                  go.message,
                  go.sequence,
                  to_text(member.group)));
  carry_out_calls(member, submission->second, go);
}

void GlooTransport::carry_out_calls(GlooMember& member,
                                    const Submission& submission,
                                    const Go& go) {
  if (go.message < 0) {
    for (const KeptCall& kept : submission.calls) {
      if (!is_message(kept.call.kind)) carry_out_call(member, kept.call);
    }
    return complete(member, go);
  }
  const CollectiveCall& call = submission.calls[static_cast<std::size_t>(go.message)].call;
  if (call.peer != member.me) {
    carry_out_call(member, call);
    return complete(member, go);
  }
  if (!member.own_half) {
    member.own_half = go;
    return;
  }
  const Go half = *std::exchange(member.own_half, std::nullopt);
  const Submission& other_submission = member.open.at(half.sequence);
  const CollectiveCall& other = other_submission.calls[static_cast<std::size_t>(half.message)].call;
  const bool sends = call.kind == CollectiveKind::kSend;
  carry_out_own_message(sends ? call : other, sends ? other : call);
  complete(member, half);
  complete(member, go);
}

void GlooTransport::carry_out_call(const GlooMember& member, const CollectiveCall& call) {
  try {
    const std::vector<Rank>& ranks = member.group.ranks;
    if (!is_message(call.kind)) {
      GlooConnection* connection = ranks.size() == 1 ? nullptr : &connections_.connection_of(ranks);
      return carry_out_collective(connection, call);
    }
    std::array<Rank, 2> ends{rank_, ranks[static_cast<std::size_t>(call.peer.value)]};
    std::sort(ends.begin(), ends.end());
    carry_out_message(connections_.connection_of(ends), call);
  } catch (const ConnectionLost&) {
    throw;
  } catch (const std::exception& error) {
    throw GlooError(fmt::format("rank {}: {} '{}' on {}: Gloo could not move the data: {}",
                                rank_.value,
                                name_of(call.kind),
                                call.label,
                                to_text(member.group),
                                without_place(error.what())));
  }
}

void GlooTransport::complete(GlooMember& member, const Go& go) {
  client_.done(go);
  const auto submission = member.open.find(go.sequence);
  if (--submission->second.num_missing == 0) member.open.erase(submission);
}

std::unique_ptr<Transport> make_gloo_transport(CoordinatorClient& client,
                                               GlooConnections& connections,
                                               const TrialOrder& order) {
  connections.impl().begin_trial(order);
  return std::make_unique<GlooTransport>(client, connections.impl(), order.rank);
}

}  // namespace lockstep::backends
