// Orders to followers, and their answers.
#include "matrix/crew/launched_seats.h"

namespace lockstep::matrix {

using backends::SeatId;

LaunchedSeats::LaunchedSeats(backends::Coordinator& coordinator, const Options& options)
    : coordinator_(coordinator),
      options_(options),
      own_(options.command),
      num_orders_(static_cast<std::size_t>(options.num_processes), 0) {}

void LaunchedSeats::start(const SeatId& id) {
  const int process = process_of(id);
  if (process == 0) return own_.start(id);
  give_order(process, {.kind = OrderKind::kStart, .rank = id.seat, .generation = id.generation});
}

std::string LaunchedSeats::end(const SeatId& id) {
  const int process = process_of(id);
  if (process == 0) return own_.end(id);
  give_order(process, {.kind = OrderKind::kEnd, .rank = id.seat, .generation = id.generation});
  const std::optional<std::string> how =
      coordinator_.get(ended_key(id.seat, id.generation), options_.patience);
  return how ? *how : "does not answer, nor does the process that started it";
}

bool LaunchedSeats::say_goodbye() {
  for (int process = 1; process < options_.num_processes; ++process) {
    give_order(process, {.kind = OrderKind::kGoodbye});
  }
  // An order that is on its way would be lost with the coordinator.
  bool all = true;
  for (int process = 1; all && process < options_.num_processes; ++process) {
    all = coordinator_.get(parted_key(process), options_.patience).has_value();
  }
  return all;
}

void LaunchedSeats::give_order(int process, const Order& order) {
  const std::uint64_t number = ++num_orders_[static_cast<std::size_t>(process)];
  coordinator_.set(order_key(process, number), to_text(order));
}

}  // namespace lockstep::matrix
