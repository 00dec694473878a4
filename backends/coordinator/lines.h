// The server's sockets: who has come, what frames they send, and frames to them.
//
// Everything happens inside handle(); nothing there waits for a single peer: what one does not take
// is queued, what none sends is not waited for.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace lockstep::backends {

using LineId = std::uint64_t;  // from 1, never used again

struct LineHooks {
  std::function<void(LineId, std::string_view payload)> message;
  // It is gone, for that reason; not called of lines that close() was called for.
  std::function<void(LineId, const std::string& why)> broken;
};

class Lines {
 public:
  struct Impl;

  // Takes the listening socket over. The hooks must not throw.
  Lines(int listening, const LineHooks& hooks);
  ~Lines();

  // Of lines that are gone: nothing.
  void send(LineId line, std::string_view frame);
  void set_max_payload(LineId line, std::size_t max_payload);
  void close(LineId line);
  // Once all that was sent to it is on its way.
  void close_after_sending(LineId line);
  // Some line has not yet taken all that was sent to it.
  bool is_sending() const;

  // Waits for something to happen, at most until `deadline`; then handles all that has.
  void handle(std::chrono::steady_clock::time_point deadline);

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::backends
