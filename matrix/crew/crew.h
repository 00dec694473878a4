// Ranks in other processes: runs a case on as many seats as it needs and collects what they saw.
//
// Seats serve one trial after another. After a trial that did not run to its end the processes of
// those that took part are replaced, with all seats in them: nobody knows what is left in their
// connections.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/coordinator/coordinator.h"
#include "matrix/crew/seats.h"
#include "matrix/sweep/trial_runner.h"

namespace lockstep::matrix {

// Why ranks that a library of this name ("Gloo") connects cannot run the case: settings that only
// the simulator has.
std::optional<std::string> why_no_crew(const Case& c, const std::string& library);

class Crew {
 public:
  // Both outlive the crew. A trial in which nothing happens for half of `timeout_s` is given up,
  // so that there is time left to say who holds it up.
  Crew(backends::Coordinator& coordinator, Seats& seats, double timeout_s)
      : coordinator_(coordinator), seats_(seats), timeout_s_(timeout_s) {}

  // `request`: what the ranks' work is told of the case. LaunchError where the ranks do not come.
  sim::TrialResult run(const Case& c, const std::string& request);

 private:
  std::vector<backends::SeatId> take_seats(int num);
  std::string who_has_not_come(const std::vector<backends::SeatId>& seats);
  void replace_processes_of(const std::vector<backends::SeatId>& ids);
  std::string end(const backends::SeatId& id);

  backends::Coordinator& coordinator_;
  Seats& seats_;
  double timeout_s_;
  std::vector<std::optional<backends::SeatId>> taken_;  // by seat
  std::uint64_t num_started_ = 0;
};

}  // namespace lockstep::matrix
