// Connects again and again, says who it is, and waits for the welcome.
#include "backends/coordinator/greeting.h"

#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <utility>

namespace lockstep::backends {
namespace {

constexpr std::chrono::milliseconds kPause{50};  // between two attempts

// One attempt. SocketError where another may be worth while.
Greeted greet_once(const CoordinatorClient::Options& options, SocketTime deadline) {
  Greeted greeted{.socket = connect_to(options.address, deadline), .cutter = {}};
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

Greeted greet_coordinator(const CoordinatorClient::Options& options) {
  const SocketTime deadline = std::chrono::steady_clock::now() + options.patience;
  while (true) {
    std::string reason;
    try {
      return greet_once(options, deadline);
    } catch (const SocketError& error) {
      reason = error.what();
    } catch (const ProtocolError& error) {
      throw ConnectionLost(fmt::format("what listens at {} is no coordinator of this version: {}",
                                       to_text(options.address),
                                       error.what()));
    }
    if (std::chrono::steady_clock::now() + kPause >= deadline) {
      throw ConnectionLost(
          fmt::format("no coordinator could be reached at {} within {} ms: {}; one must listen "
                      "there, on an address that this host can reach",
                      to_text(options.address),
                      options.patience.count(),
                      reason));
    }
    ::poll(nullptr, 0, static_cast<int>(kPause.count()));
  }
}

}  // namespace lockstep::backends
