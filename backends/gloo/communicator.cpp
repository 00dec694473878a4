// Which connection a call uses, and Gloo's errors in the user's words.
#include "backends/gloo/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>
#include <vector>

#include "backends/gloo/collectives.h"
#include "core/comm/call_rules.h"

namespace lockstep::backends {
namespace {

// Gloo's words without the place in its source: "[.../pair.cc:598] Connection closed by peer".
std::string_view without_place(std::string_view message) {
  const std::size_t end = message.find("] ");
  const bool has_place = message.starts_with('[') && end != std::string_view::npos;
  if (has_place) message.remove_prefix(end + 2);
  return message.substr(0, message.find('\n'));
}

}  // namespace

GlooTransport::GlooTransport(CoordinatorClient& client,
                             GlooConnections::Impl& connections,
                             Rank rank)
    : OrderedTransport(client, rank, "Gloo"), connections_(connections) {}

GlooTransport::~GlooTransport() {
  if (has_open()) connections_.spoil();
}

void GlooTransport::carry_out(const DueCalls& due) {
  for (const CollectiveCall* call : due.calls) carry_out_call(due.member, *call);
}

void GlooTransport::carry_out_own_message(const DueCalls& send, const DueCalls& receive) {
  backends::carry_out_own_message(*send.calls.front(), *receive.calls.front());
}

void GlooTransport::carry_out_call(const OrderedMember& member, const CollectiveCall& call) {
  try {
    const std::vector<Rank>& ranks = member.group.ranks;
    if (!is_message(call.kind)) {
      GlooConnection* connection = ranks.size() == 1 ? nullptr : &connections_.connection_of(ranks);
      return carry_out_collective(connection, call);
    }
    std::array<Rank, 2> ends{rank(), ranks[static_cast<std::size_t>(call.peer.value)]};
    std::sort(ends.begin(), ends.end());
    carry_out_message(connections_.connection_of(ends), call);
  } catch (const ConnectionLost&) {
    throw;
  } catch (const std::exception& error) {
    throw GlooError(fmt::format("rank {}: {} '{}' on {}: Gloo could not move the data: {}",
                                rank().value,
                                name_of(call.kind),
                                call.label,
                                to_text(member.group),
                                without_place(error.what())));
  }
}

std::unique_ptr<Transport> make_gloo_transport(CoordinatorClient& client,
                                               GlooConnections& connections,
                                               const TrialOrder& order) {
  connections.impl().begin_trial(order);
  return std::make_unique<GlooTransport>(client, connections.impl(), order.rank);
}

}  // namespace lockstep::backends
