// Messages as tests of backends send them, all under the same labels.
#pragma once

#include "tests/support/spawn_ranks.h"

namespace lockstep::test {

CollectiveCall send(const Tensor& input, int peer);
CollectiveCall receive(const Tensor& output, int peer);

// On the first stream.
void wait(const Ticket& ticket);

// A message to itself, waited for: what the rank has submitted before is then on its way, and it
// has met nobody else.
void flush(TestRank& r, Communicator& communicator);

}  // namespace lockstep::test
