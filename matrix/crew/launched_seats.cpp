// Orders to followers, and their answers.
#include "matrix/crew/launched_seats.h"

#include <fmt/format.h>

#include "matrix/crew/orders.h"

namespace lockstep::matrix {

using backends::SeatId;

LaunchedSeats::LaunchedSeats(backends::Coordinator& coordinator, const Options& options)
    : coordinator_(coordinator),
      options_(options),
      own_(options.command),
      num_orders_(static_cast<std::size_t>(options.num_processes), 0) {}

void LaunchedSeats::start(const SeatId& id) {
  if (id.seat == 0) return own_.start(id);
  give_order(id.seat, to_text({.kind = OrderKind::kStart, .generation = id.generation}));
}

std::string LaunchedSeats::end(const SeatId& id) {
  if (id.seat == 0) return own_.end(id);
  give_order(id.seat, to_text({.kind = OrderKind::kEnd, .generation = id.generation}));
  const std::optional<std::string> how =
      coordinator_.get(ended_key(id.seat, id.generation), options_.patience);
  return how ? *how : "does not answer, nor does the process that started it";
}

std::string LaunchedSeats::why_no_more() const {
  return fmt::format("{} started {} processes", options_.launcher, options_.num_processes);
}

bool LaunchedSeats::say_goodbye() {
  for (int rank = 1; rank < options_.num_processes; ++rank) {
    give_order(rank, to_text({.kind = OrderKind::kGoodbye}));
  }
  // An order that is on its way would be lost with the coordinator.
  bool all = true;
  for (int rank = 1; all && rank < options_.num_processes; ++rank) {
    all = coordinator_.get(ended_key(rank, 0), options_.patience).has_value();
  }
  return all;
}

void LaunchedSeats::give_order(int rank, const std::string& order) {
  const std::uint64_t number = ++num_orders_[static_cast<std::size_t>(rank)];
  coordinator_.set(order_key(rank, number), order);
}

}  // namespace lockstep::matrix
