// Connects again and again, says who it is, and waits for the welcome.
#include "backends/coordinator/greeting.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

namespace lockstep::backends {
namespace {

constexpr std::chrono::milliseconds kPause{50};  // between two attempts

// One attempt. SocketError where another may be worth while.
Greeted greet_once(const CoordinatorClient::Options& options, Socket socket, SocketTime deadline) {
  Greeted greeted{.socket = std::move(socket), .cutter = {}};
  const Hello hello{.seat = options.seat, .generation = options.generation};
  greeted.socket.send(frame_of(FromRank(hello)), deadline);
  std::array<char, 4096> room;
  while (true) {
    if (const auto payload = greeted.cutter.next()) {
      const FromCoordinator message = coordinator_message(*payload);
      if (std::holds_alternative<Welcome>(message)) return greeted;
      const auto* refusal = std::get_if<Refusal>(&message);
      if (refusal == nullptr) throw ProtocolError("its first message is no welcome");
      throw ConnectionLost(fmt::format("the coordinator at {} refuses this process: {}",
                                       to_text(options.address),
                                       refusal->why));
    }
    const std::string_view bytes = greeted.socket.receive(room, deadline);
    if (bytes.empty()) throw SocketError("it listens and says nothing");
    greeted.cutter.add(bytes);
  }
}

}  // namespace

std::string to_text(const CoordinatorAddress& address) {
  return fmt::format("{}:{}", address.host, address.port);
}

void expect_listener(const CoordinatorAddress& address, std::chrono::milliseconds patience) {
  const SocketTime deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    try {
      connect_to(address, deadline);
      return;
    } catch (const SocketError& error) {
      if (std::chrono::steady_clock::now() + kPause >= deadline) {
        throw ConnectionLost(
            fmt::format("nothing listens at {}: {}", to_text(address), error.what()));
      }
    }
    ::poll(nullptr, 0, static_cast<int>(kPause.count()));
  }
}

Greeted greet_coordinator(const CoordinatorClient::Options& options) {
  const SocketTime start = std::chrono::steady_clock::now();
  const SocketTime deadline = start + options.patience;
  SocketTime listener_deadline = start + options.listener_patience;
  while (true) {
    std::string reason;
    try {
      Socket socket = connect_to(options.address, std::min(deadline, listener_deadline));
      listener_deadline = std::chrono::steady_clock::now() + options.listener_patience;
      return greet_once(options, std::move(socket), deadline);
    } catch (const SocketError& error) {
      reason = error.what();
    } catch (const ProtocolError& error) {
      throw ConnectionLost(fmt::format("what listens at {} is no coordinator of this version: {}",
                                       to_text(options.address),
                                       error.what()));
    }
    const SocketTime next = std::chrono::steady_clock::now() + kPause;
    if (next >= std::min(deadline, listener_deadline)) {
      const bool is_due = next >= deadline;
      throw ConnectionLost(
          fmt::format("no coordinator could be reached at {} within {} ms: {}; one must listen "
                      "there, on an address that this host can reach",
                      to_text(options.address),
                      (is_due ? options.patience : options.listener_patience).count(),
                      reason));
    }
    ::poll(nullptr, 0, static_cast<int>(kPause.count()));
  }
}

}  // namespace lockstep::backends
