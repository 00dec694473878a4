// Calls with a peer, and one that needs nobody.
#include "tests/support/message_calls.h"

#include <vector>

namespace lockstep::test {

CollectiveCall send(const Tensor& input, int peer) {
  return {
      .label = "test.send", .kind = CollectiveKind::kSend, .input = input.buffer(), .peer = {peer}};
}

CollectiveCall receive(const Tensor& output, int peer) {
  return {.label = "test.receive",
          .kind = CollectiveKind::kRecv,
          .output = output.buffer(),
          .peer = {peer}};
}

void wait(const Ticket& ticket) { ticket.source->wait(ticket.sequence, {}, "test.wait"); }

void flush(TestRank& r, Communicator& communicator) {
  const Tensor sent = r.tensor({2.0});
  const Tensor received = r.empty(1);
  const std::vector<CollectiveCall> calls{send(sent, r.rank.value),
                                          receive(received, r.rank.value)};
  wait(communicator.submit(calls));
}

}  // namespace lockstep::test
