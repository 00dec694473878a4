// TCP sockets of a rank's side, where every wait has an end, and sockets that listen.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "backends/coordinator/client.h"

namespace lockstep::backends {

// The reason only, as the system says it: whoever catches it knows the address.
class SocketError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using SocketTime = std::chrono::steady_clock::time_point;

class Socket {
 public:
  // Takes the descriptor over.
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&&) = delete;

  // Sender and receiver may be two threads.
  void send(std::string_view bytes, SocketTime deadline);
  // What has come, at the beginning of `room`; empty where nothing has until the deadline. Without
  // one it waits for as long as it takes. SocketError at the line's end.
  std::string_view receive(std::span<char> room, std::optional<SocketTime> deadline);

  std::string local_address() const;

 private:
  int descriptor_;
};

// One attempt at each of the host's addresses.
Socket connect_to(const CoordinatorAddress& address, SocketTime deadline);

// Of a socket that listens or is connected.
int local_port(int descriptor);

}  // namespace lockstep::backends
