// Takes one order after another.
#include "matrix/crew/follower.h"

#include <chrono>
#include <memory>
#include <utility>

#include "matrix/crew/orders.h"

namespace lockstep::matrix {
namespace {

using backends::CoordinatorClient;
using backends::SeatId;

// Orders come when the leader has a case for a rank of this process, which may be never.
constexpr std::chrono::hours kAnyTime{24 * 365};
// The leader answers only while it runs a case, and may start much later than its followers.
constexpr std::chrono::seconds kPatience{120};
// It listens from its start to its end, whether it answers or not.
constexpr std::chrono::seconds kListenerPatience{10};

enum class FollowerEnd { kGoodbye, kCoordinatorLost };

FollowerEnd obey(CoordinatorClient& client, const FollowerOptions& options) {
  try {
    client.set(arrived_key(options.process), options.arrival);
    std::vector<std::string> command = options.command;
    for (std::string& word : words_from_text(client.get(followers_words_key(), kAnyTime))) {
      command.push_back(std::move(word));
    }
    const std::unique_ptr<Seats> seats = make_local_seats(options.kind, command);
    for (std::uint64_t number = 1;; ++number) {
      const Order order = order_from_text(client.get(order_key(options.process, number), kAnyTime));
      const SeatId id{.seat = order.rank, .generation = order.generation};
      switch (order.kind) {
        case OrderKind::kStart:
          seats->start(id);
          break;
        case OrderKind::kEnd:
          client.set(ended_key(order.rank, order.generation), seats->end(id));
          break;
        case OrderKind::kGoodbye:
          client.set(parted_key(options.process), "");
          return FollowerEnd::kGoodbye;
      }
    }
  } catch (const backends::ConnectionLost&) {
    return FollowerEnd::kCoordinatorLost;
  }
}

}  // namespace

void follow(const FollowerOptions& options) {
  FollowerEnd end = FollowerEnd::kCoordinatorLost;
  std::chrono::milliseconds listener_patience = kPatience;
  while (end == FollowerEnd::kCoordinatorLost) {
    CoordinatorClient client({.address = options.coordinator,
                              .seat = follower_seat(options.process),
                              .generation = 0,
                              .patience = kPatience,
                              .listener_patience = listener_patience});
    end = obey(client, options);
    listener_patience = kListenerPatience;
  }
}

}  // namespace lockstep::matrix
