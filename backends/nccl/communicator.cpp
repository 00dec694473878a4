// Submits note where streams stand, the word to go enqueues, waits order streams.
#include "backends/nccl/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "backends/nccl/api.h"
#include "backends/nccl/collectives.h"
#include "core/base/errors.h"
#include "core/comm/call_rules.h"

namespace lockstep::backends {

NcclTransport::NcclTransport(CoordinatorClient& client,
                             NcclConnections::Impl& connections,
                             const NcclTrial& trial)
    : OrderedTransport(client, trial.order.rank, "NCCL"),
      connections_(connections),
      trial_(trial.order.number),
      mesh_(trial.mesh),
      device_(trial.device),
      communicators_(connections.begin_trial(trial.order, trial.mesh)) {
  device_.set_watch([this] { watch(); });
  connections_.process().join(trial_, this->rank());
}

NcclTransport::~NcclTransport() {
  connections_.process().leave(trial_, rank());
  device_.set_watch({});
  const auto is_idle = [this] {
    retire();
    return operations_.empty();
  };
  // Of a rank that fails nobody waits for what it has begun.
  connections_.settle(is_idle, std::uncaught_exceptions() == 0);
  if (has_open()) connections_.spoil();
}

std::unique_ptr<Communicator> NcclTransport::connect(Rank rank, const Group& group) {
  const Group* known = mesh_.group_of(group.kind, rank);
  LOCKSTEP_CHECK(
      known != nullptr && *known == group,
      fmt::format("{} is no group of the mesh, and NCCL connects those alone", to_text(group)));
  return OrderedTransport::connect(rank, group);
}

void NcclTransport::on_submit(const SubmitId& submit, std::span<const CollectiveCall> calls) {
  connections_.gpu().enter();
  Flight& flight = flights_[submit];
  for (auto call = calls.begin(); call != calls.end(); ++call) {
    const bool is_new = std::none_of(calls.begin(), call, [&](const CollectiveCall& earlier) {
      return earlier.stream == call->stream;
    });
    if (!is_new) continue;
    flight.ready.push_back(connections_.take_event());
    flight.ready.back()->record(device_.native_stream(call->stream));
  }
}

NcclTransport::Flight& NcclTransport::follow(const SubmitId& submit) {
  Flight& flight = flights_.at(submit);
  for (std::unique_ptr<GpuEvent>& event : flight.ready) {
    event->hold_back(connections_.stream());
    connections_.give_back(std::move(event));
  }
  flight.ready.clear();
  return flight;
}

TakeScratch NcclTransport::taking_from(StreamScratch& scratch) {
  return [this, &scratch](std::int64_t num_bytes) {
    const LaunchGate::Pass pass(connections_.gpu().gate());
    return scratch.take(num_bytes);
  };
}

void NcclTransport::carry_out(const DueCalls& due) {
  connections_.gpu().enter();
  Flight& flight = follow(due.submit);
  StreamScratch scratch(connections_.stream());
  const TakeScratch take = taking_from(scratch);
  const OrderedMember& member = due.member;
  const GroupSeat seat{.me = member.me.value, .size = member.group.size()};
  NcclPlan plan;
  for (const CollectiveCall* call : due.calls) plan_call(*call, seat, take, plan);
  enqueue(plan, due);
  flight.last_operation = num_enqueued_;
}

void NcclTransport::carry_out_own_message(const DueCalls& send, const DueCalls& receive) {
  connections_.gpu().enter();
  Flight& sent = follow(send.submit);
  Flight& received = follow(receive.submit);
  StreamScratch scratch(connections_.stream());
  const TakeScratch take = taking_from(scratch);
  NcclPlan plan;
  plan_own_message(*send.calls.front(), *receive.calls.front(), take, plan);
  enqueue(plan, receive);
  sent.last_operation = received.last_operation = num_enqueued_;
}

void NcclTransport::enqueue(const NcclPlan& plan, const DueCalls& due) {
  retire();
  if (operations_.empty()) last_progress_ = Clock::now();
  const Group& group = due.member.group;
  const CollectiveCall& first = *due.calls.front();
  const bool is_of_two = is_message(first.kind) && first.peer != due.member.me;
  const std::array<Rank, 2> ends{
      rank(), is_of_two ? group.ranks[static_cast<std::size_t>(first.peer.value)] : rank()};
  const std::span<const Rank> members = is_message(first.kind)
                                            ? std::span(ends).first(is_of_two ? 2 : 1)
                                            : std::span<const Rank>(group.ranks);
  Operation operation{.done = connections_.take_event(), .what = to_text(due, rank())};
  const NcclPart part{.gpu = &connections_.gpu(),
                      .communicator = communicators_[static_cast<std::size_t>(group.kind)],
                      .stream = connections_.stream(),
                      .plan = &plan,
                      .done = operation.done.get()};
  const Clock::time_point start = Clock::now();
  AbortUnlessDone guard(connections_);  // only then: others may be enqueueing this part till then
  try {
    connections_.process().enqueue({.trial = trial_, .place = due.place}, members, part, [&] {
      connections_.look(start, [&] { return operation.what + " does not begin"; });
    });
  } catch (const NcclError& error) {
    const std::string text = error.what();
    const bool is_told = text.starts_with(operation.what);
    throw NcclError(is_told ? text : fmt::format("{}: {}", operation.what, text));
  }
  guard.done = true;
  operations_.push_back(std::move(operation));
  ++num_enqueued_;
  connections_.gpu().enter();  // the last to come has entered those of the others
}

void NcclTransport::retire() {
  while (!operations_.empty() && operations_.front().done->is_reached()) {
    connections_.give_back(std::move(operations_.front().done));
    operations_.pop_front();
    last_progress_ = Clock::now();
  }
}

// A ticket may be waited for again, on another stream: then it is not known which operation was its
// last, and the latest one is late enough.
void NcclTransport::on_wait(const SubmitId& submit, Stream stream, std::string_view /*label*/) {
  const auto flight = flights_.find(submit);
  const bool is_known = flight != flights_.end();
  const std::uint64_t operation = is_known ? flight->second.last_operation : num_enqueued_;
  if (std::uncaught_exceptions() > 0) {
    try {
      hold_back(stream, operation);
    } catch (const CudaError&) {
      // The GPU is lost; the exception that is under way says why.
    }
    return;
  }
  if (is_known) flights_.erase(flight);
  hold_back(stream, operation);
}

void NcclTransport::hold_back(Stream stream, std::uint64_t operation) {
  const std::uint64_t num_done = num_enqueued_ - operations_.size();
  if (operation <= num_done) return;
  connections_.gpu().enter();
  operations_[operation - num_done - 1].done->hold_back(device_.native_stream(stream));
}

void NcclTransport::watch() {
  retire();
  // With nothing under way only the trial's end ends the wait.
  const Clock::time_point since = operations_.empty() ? Clock::now() : last_progress_;
  connections_.check(since, [this] { return oldest() + " does not end"; });
}

Support nccl_support(const CallType& type) { return planned_support(type); }

std::unique_ptr<Transport> make_nccl_transport(CoordinatorClient& client,
                                               NcclConnections& connections,
                                               const NcclTrial& trial) {
  return std::make_unique<NcclTransport>(client, connections.impl(), trial);
}

}  // namespace lockstep::backends
