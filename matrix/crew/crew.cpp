// Seats are taken when a case needs them, and given up when its trial went wrong.
#include "matrix/crew/crew.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "core/comm/mesh.h"
#include "core/config/fields.h"
#include "matrix/crew/rank_result_bytes.h"
#include "matrix/sweep/worker_pool.h"
#include "simulator/runtime/rank_program.h"
#include "simulator/runtime/trial.h"

namespace lockstep::matrix {
namespace {

using backends::SeatId;
using Milliseconds = std::chrono::milliseconds;

Milliseconds milliseconds(double seconds) {
  return std::chrono::duration_cast<Milliseconds>(std::chrono::duration<double>(seconds));
}

}  // namespace

std::optional<std::string> why_no_crew(const Case& c, const std::string& library) {
  if (c.recipe.reduction_order != ReductionOrder::kRank) {
    return fmt::format(
        "the order of sums is {}'s own; reduction_order other than rank is the simulator's",
        library);
  }
  if (c.recipe.completion != Completion::kLate) {
    return fmt::format(
        "calls take effect when {} carries them out; completion other than late is the simulator's",
        library);
  }
  return std::nullopt;
}

sim::TrialResult Crew::run(const Case& c, const std::string& request) {
  const Mesh mesh(c.layout);
  const std::vector<SeatId> seats = take_seats(mesh.world());
  std::vector<int> processes;
  for (const SeatId& id : seats) processes.push_back(seats_.process_of(id.seat));
  backends::TrialOutcome outcome = coordinator_.run(
      mesh,
      seats,
      request,
      {.stall = milliseconds(timeout_s_ / 2.0)},
      [this](const SeatId& id) { return end(id); },
      processes);
  sim::TrialResult trial{.c = c,
                         .ranks = std::vector<RankResult>(seats.size()),
                         .cluster = {.findings = std::move(outcome.findings),
                                     .num_calls = outcome.num_calls,
                                     .num_matched = outcome.num_matched},
                         .digest = {}};
  for (std::size_t i = 0; i < seats.size(); ++i) {
    if (!outcome.results[i].empty()) trial.ranks[i] = rank_result_from_bytes(outcome.results[i]);
  }
  trial.digest = sim::digest_of(trial.ranks);
  if (sim::why_unfinished(trial.cluster)) replace_processes_of(seats);
  return trial;
}

std::vector<SeatId> Crew::take_seats(int num) {
  const auto size = static_cast<std::size_t>(num);
  if (taken_.size() < size) taken_.resize(size);
  // One that has died while it had nothing to do costs no case.
  std::vector<SeatId> gone;
  for (std::size_t i = 0; i < size; ++i) {
    if (taken_[i] && !coordinator_.is_here(*taken_[i])) gone.push_back(*taken_[i]);
  }
  replace_processes_of(gone);
  std::vector<SeatId> seats;
  for (std::size_t i = 0; i < size; ++i) {
    if (!taken_[i]) {
      const SeatId id{.seat = static_cast<int>(i), .generation = ++num_started_};
      seats_.start(id);
      taken_[i] = id;
    }
    seats.push_back(*taken_[i]);
  }
  std::optional<std::string> ended;
  const bool all_here = coordinator_.wait_for_seats(seats, milliseconds(timeout_s_ / 2.0), [&] {
    ended = seats_.early_end(seats);
    return ended.has_value();
  });
  if (all_here) return seats;
  const std::string why = ended ? *ended : who_has_not_come(seats);
  replace_processes_of(seats);
  throw LaunchError(why);
}

std::string Crew::who_has_not_come(const std::vector<SeatId>& seats) {
  std::string missing;
  for (const SeatId& id : seats) {
    if (coordinator_.is_here(id)) continue;
    missing += fmt::format("{}{}", missing.empty() ? "rank " : ", rank ", id.seat);
  }
  return fmt::format(
      "the processes of these ranks have not come within {:g} s: {}", timeout_s_ / 2.0, missing);
}

// What is in them is started anew when a case needs it.
void Crew::replace_processes_of(const std::vector<SeatId>& ids) {
  std::set<int> processes;
  for (const SeatId& id : ids) processes.insert(seats_.process_of(id.seat));
  for (const std::optional<SeatId>& taken : taken_) {
    if (taken && processes.contains(seats_.process_of(taken->seat))) end(SeatId(*taken));
  }
}

std::string Crew::end(const SeatId& id) {
  taken_[static_cast<std::size_t>(id.seat)].reset();
  return seats_.end(id);
}

}  // namespace lockstep::matrix
