// Submit, wait, and carry out in the coordinator's order.
#include "backends/coordinator/ordered_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "core/base/errors.h"
#include "core/comm/call_rules.h"

namespace lockstep::backends {
namespace {

class OrderedCommunicator : public Communicator {
 public:
  explicit OrderedCommunicator(OrderedMember& member) : member_(member) {}

  const Group& group() const override { return member_.group; }
  Ticket submit(std::span<const CollectiveCall> calls) override {
    return {.source = &member_, .sequence = member_.transport->submit(member_, calls)};
  }

 private:
  OrderedMember& member_;
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

}  // namespace

std::string to_text(const DueCalls& due, Rank rank) {
  const CollectiveCall& first = *due.calls.front();
  const std::string more =
      due.calls.size() == 1 ? "" : fmt::format(" and {} more", due.calls.size() - 1);
  return fmt::format("rank {}: {} '{}'{} on {}",
                     rank.value,
                     name_of(first.kind),
                     first.label,
                     more,
                     to_text(due.member.group));
}

void OrderedMember::wait(std::uint64_t sequence, Stream stream, std::string_view label) {
  transport->wait(*this, sequence, stream, label);
}

bool OrderedTransport::has_open() const {
  return std::any_of(
      members_.begin(), members_.end(), [](const auto& member) { return !member->open.empty(); });
}

std::unique_ptr<Communicator> OrderedTransport::connect(Rank rank, const Group& group) {
  LOCKSTEP_CHECK(rank == rank_,
                 fmt::format("rank {} connects in the place of rank {}", rank.value, rank_.value));
  const std::optional<GroupRank> me = group.rank_of(rank);
  LOCKSTEP_CHECK(me.has_value(),
                 fmt::format("rank {} is no member of {}", rank.value, to_text(group)));
  auto member = std::make_unique<OrderedMember>();
  member->transport = this;
  member->group = group;
  member->me = *me;
  member->number = client_.connect(group);
  LOCKSTEP_CHECK(member->number == static_cast<int>(members_.size()),
                 "the client numbers communicators from 0");
  members_.push_back(std::move(member));
  return std::make_unique<OrderedCommunicator>(*members_.back());
}

std::uint64_t OrderedTransport::submit(OrderedMember& member,
                                       std::span<const CollectiveCall> calls) {
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
  on_submit({.communicator = member.number, .sequence = sequence}, calls);
  return sequence;
}

void OrderedTransport::check_call(const OrderedMember& member, const CollectiveCall& call) const {
  std::optional<std::string> wrong = why_wrong(call, member.me, member.group.size());
  if (!wrong) {
    const DType dtype = call.kind == CollectiveKind::kSend ? call.input.dtype : call.output.dtype;
    const Support support = supports({.kind = call.kind, .dtype = dtype, .op = call.op});
    if (support.kind == SupportKind::kNone) {
      wrong = fmt::format("{} cannot: {}", library_, support.how);
    }
  }
  if (!wrong) return;
  throw InternalError(fmt::format("rank {}: {} '{}' on {}: {}",
                                  rank_.value,
                                  name_of(call.kind),
                                  call.label,
                                  to_text(member.group),
                                  *wrong));
}

void OrderedTransport::wait(OrderedMember& member,
                            std::uint64_t sequence,
                            Stream stream,
                            std::string_view label) {
  client_.wait(member.number, sequence, label);
  // A rank that is being unwound takes part in nothing more: nobody may block there.
  while (member.open.contains(sequence) && std::uncaught_exceptions() == 0) {
    follow(client_.next_go());
  }
  on_wait({.communicator = member.number, .sequence = sequence}, stream, label);
}

void OrderedTransport::follow(const Go& go) {
  LOCKSTEP_CHECK(
      go.communicator >= 0 && go.communicator < std::ssize(members_),
      fmt::format("told to go on communicator {} of {}", go.communicator, members_.size()));
  OrderedMember& member = *members_[static_cast<std::size_t>(go.communicator)];
  const auto found = member.open.find(go.sequence);
  LOCKSTEP_CHECK(found != member.open.end() && go.message < std::ssize(found->second.calls),
                 fmt::format("told to go on call {} of submit {} on {}, which is not open",
                             go.message,
                             go.sequence,
                             to_text(member.group)));
  const std::vector<KeptCall>& calls = found->second.calls;
  due_.clear();
  if (go.message < 0) {
    for (const KeptCall& kept : calls) {
      if (!is_message(kept.call.kind)) due_.push_back(&kept.call);
    }
  } else {
    const CollectiveCall& call = calls[static_cast<std::size_t>(go.message)].call;
    if (call.peer == member.me) return follow_own_message(member, go, call);
    due_.push_back(&call);
  }
  carry_out({.member = member,
             .submit = {.communicator = member.number, .sequence = go.sequence},
             .calls = due_,
             .place = go.place});
  complete(member, go);
}

void OrderedTransport::follow_own_message(OrderedMember& member,
                                          const Go& go,
                                          const CollectiveCall& call) {
  if (!member.own_half) {
    member.own_half = go;
    return;
  }
  const Go half = *std::exchange(member.own_half, std::nullopt);
  const std::vector<KeptCall>& others = member.open.at(half.sequence).calls;
  const CollectiveCall* const mine = &call;
  const CollectiveCall* const other = &others[static_cast<std::size_t>(half.message)].call;
  const DueCalls now{.member = member,
                     .submit = {.communicator = member.number, .sequence = go.sequence},
                     .calls = {&mine, 1},
                     .place = go.place};
  const DueCalls before{.member = member,
                        .submit = {.communicator = member.number, .sequence = half.sequence},
                        .calls = {&other, 1},
                        .place = half.place};
  const bool sends = call.kind == CollectiveKind::kSend;
  carry_out_own_message(sends ? now : before, sends ? before : now);
  complete(member, half);
  complete(member, go);
}

void OrderedTransport::complete(OrderedMember& member, const Go& go) {
  client_.done(go);
  const auto submission = member.open.find(go.sequence);
  if (--submission->second.num_missing == 0) member.open.erase(submission);
}

}  // namespace lockstep::backends
