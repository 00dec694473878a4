// A transport that changes calls on their way to another, or outputs once they are there.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "tests/backends/conformance/backends.h"

namespace lockstep::test {

using Bytes = std::vector<std::byte>;
Bytes bytes_of(const Buffer& buffer);
void put_bytes(const Buffer& buffer, const Bytes& bytes);

// A call on one rank.
struct SpoiltCall {
  const Group& group;
  GroupRank me;
  CollectiveCall& call;
  Bytes before;           // its output when it was submitted
  bool is_oldest = true;  // of those that the communicator has under way
};

// How the transport differs from the one that it wraps; by default not at all.
struct Spoiling {
  std::function<void(SpoiltCall&)> on_submit = {};
  std::function<void(SpoiltCall&)> on_wait = {};  // after the wait
  bool skips_barrier_waits = false;
  bool swallows_wrong_calls = false;   // instead of refusing them
  std::optional<CallType> lacks = {};  // told by supports()
  bool refuses_what_it_lacks = false;
};

// Runs the program of each rank over a transport so spoilt.
RunOutcome run_spoilt(const Spoiling& spoiling, const Layout& layout, const RankProgram& program);

}  // namespace lockstep::test
