// A point in the work of a stream or communicator, to be waited for.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

// Number of an ordered queue of work on one rank's device; 0 computes.
struct Stream {
  int value = 0;
  bool operator==(const Stream&) const = default;
};

// What gives out tickets: a communicator, or a device with streams of its own.
class TicketSource {
 public:
  virtual ~TicketSource() = default;

  // Makes `stream` wait for the point `sequence`. On a CPU the caller itself waits. `label` names
  // the wait in reports and must outlive it.
  virtual void wait(std::uint64_t sequence, Stream stream, std::string_view label) = 0;
};

// Each ticket is waited for on its own: a wait says nothing of earlier ones. A default-constructed
// ticket is complete.
struct Ticket {
  TicketSource* source = nullptr;
  std::uint64_t sequence = 0;
};

}  // namespace lockstep
