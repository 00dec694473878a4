// Orders to followers, and their answers.
#include "matrix/crew/launched_seats.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/errors.h"

namespace lockstep::matrix {
namespace {

using backends::SeatId;
using Clock = std::chrono::steady_clock;

// How often a follower that may have gone is looked for.
constexpr std::chrono::milliseconds kLookInterval{50};

}  // namespace

LaunchedSeats::LaunchedSeats(backends::Coordinator& coordinator, const Options& options)
    : coordinator_(coordinator),
      options_(options),
      own_(make_local_seats(options.kind, options.command)),
      followers_(static_cast<std::size_t>(options.num_processes)) {
  coordinator.set(followers_words_key(), to_text(options.followers_words));
}

int LaunchedSeats::process_of(int seat) const {
  switch (options_.kind) {
    case SeatKind::kProcesses:
      return seat;
    case SeatKind::kThreads:
      return launched_process_of(seat);
  }
  throw InternalError("unknown kind of seats");
}

std::optional<std::string> LaunchedSeats::arrival(int process, std::chrono::milliseconds patience) {
  return coordinator_.get(arrived_key(process), patience);
}

void LaunchedSeats::start(const SeatId& id) {
  const int process = launched_process_of(id.seat);
  if (process == 0) return own_->start(id);
  give_order(process, {.kind = OrderKind::kStart, .rank = id.seat, .generation = id.generation});
}

std::string LaunchedSeats::end(const SeatId& id) {
  const int process = launched_process_of(id.seat);
  if (process == 0) return own_->end(id);
  give_order(process, {.kind = OrderKind::kEnd, .rank = id.seat, .generation = id.generation});
  const std::optional<std::string> how = answer(process, ended_key(id.seat, id.generation));
  if (how) return *how;
  if (!is_here(process)) return fmt::format("process {} of the launcher is gone", process);
  return fmt::format("does not answer, nor does process {} of the launcher", process);
}

std::optional<std::string> LaunchedSeats::early_end(const std::vector<SeatId>& ids) {
  for (const SeatId& id : ids) {
    const int process = launched_process_of(id.seat);
    if (process == 0 || is_here(process)) continue;
    if (!coordinator_.get(arrived_key(process), std::chrono::milliseconds{0})) continue;
    return fmt::format(
        "the process of rank {} has ended: process {} of the launcher is gone", id.seat, process);
  }
  return own_->early_end(ids);
}

bool LaunchedSeats::is_here(int process) {
  return coordinator_.is_here({.seat = follower_seat(process), .generation = 0});
}

// None: it is gone or silent. One that is silent is waited for once, until it answers again: all
// its ranks are ended in turn, and there must be time left to tell it.
std::optional<std::string> LaunchedSeats::answer(int process, const std::string& key) {
  Follower& follower = followers_[static_cast<std::size_t>(process)];
  auto deadline = Clock::now() + options_.patience;
  if (!follower.unanswered.empty() &&
      !coordinator_.get(follower.unanswered, std::chrono::milliseconds{0})) {
    deadline = Clock::now();
  }
  while (is_here(process)) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    const std::optional<std::string> value =
        coordinator_.get(key, std::clamp(left, std::chrono::milliseconds{0}, kLookInterval));
    if (value) {
      follower.unanswered.clear();
      return value;
    }
    if (left.count() <= 0) break;
  }
  follower.unanswered = key;
  return std::nullopt;
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
  const std::uint64_t number = ++followers_[static_cast<std::size_t>(process)].num_orders;
  coordinator_.set(order_key(process, number), to_text(order));
}

}  // namespace lockstep::matrix
