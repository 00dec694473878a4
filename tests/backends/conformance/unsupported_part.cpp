// What a backend cannot do it says beforehand, and a call of that type is refused with its reason.
#include <fmt/format.h>

#include <stdexcept>

#include "tests/backends/conformance/part.h"
#include "tests/backends/conformance/prepared_call.h"

namespace lockstep::test {
namespace {

std::string refusal_complaint(Communicator& communicator,
                              const CollectiveCall& call,
                              const Capability& row) {
  try {
    const Ticket ticket = communicator.submit({&call, 1});
    ticket.source->wait(ticket.sequence, {}, call.label);  // its buffers live no longer than here
    return fmt::format("{} is told to be impossible and was not refused", to_text(row.type));
  } catch (const std::exception& error) {
    if (std::string_view(error.what()).find(row.support.how) != std::string::npos) return {};
    return fmt::format("{} was refused with '{}', which lacks '{}'",
                       to_text(row.type),
                       error.what(),
                       row.support.how);
  }
}

}  // namespace

PartReport check_unsupported(const TestedBackend& backend, int world) {
  const std::vector<Capability> capabilities = capabilities_of(backend);
  return run_part(backend, world, [&](TestRank& r, RankNotes& notes) {
    const auto communicator = r.connect(GroupKind::kWorld);
    const GroupRank me = rank_in(*communicator, r.rank);
    for (const Capability& row : capabilities) {
      if (row.support.kind != SupportKind::kNone) continue;
      const PreparedCall prepared(r, {.type = row.type}, Seat{communicator->group(), me});
      notes.check(refusal_complaint(*communicator, prepared.call(), row));
    }
  });
}

}  // namespace lockstep::test
