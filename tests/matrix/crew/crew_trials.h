// Trials on a crew: the case, what a planted fault must come to, and two hosts of rank threads.
#pragma once

#include <iosfwd>
#include <string>
#include <thread>
#include <vector>

#include "backends/coordinator/coordinator.h"
#include "matrix/crew/crew.h"
#include "matrix/crew/launched_seats.h"

namespace lockstep::test {

// tp 2, dp 2, one step in f64.
Case small_case();

// Of faulty_rank.cpp, by its name there.
struct CrewFault {
  const char* name;
  backends::FindingKind kind;
  std::vector<Rank> ranks;  // all that are named
  const char* text;         // that the first line holds
};
void PrintTo(const CrewFault& fault, std::ostream* out);

// Of rank 1, with which rank 3 is in one process: told alike whatever connects the ranks.
std::vector<CrewFault> faults_of_hosts();

// By the findings of its kind, the first of which is the first of all.
void expect_names(const sim::TrialResult& trial, const CrewFault& fault);

// It ran to its end and gives the numbers of simulated ranks on the CPU within `bound`.
void expect_like_simulated(const sim::TrialResult& trial, double bound);

// faulty_rank, beside this test's own executable.
std::string faulty_rank();

// A crew whose ranks are threads of two processes: even ones of a child of this process, odd ones
// of a follower's, which is a thread here.
struct TwoHosts {
  // `kind`: of faulty_rank.cpp.
  TwoHosts(const std::string& fault, const std::string& kind, double timeout_s);
  ~TwoHosts();

  backends::Coordinator coordinator{{}};
  matrix::LaunchedSeats seats;
  matrix::Crew crew;
  std::thread follower;
};

// The processes that this one's threads have started, in no order.
std::vector<pid_t> all_children();
// Kills it and returns once it has ended; whoever started it still has to collect it.
void kill_and_wait_for_end(pid_t pid);

}  // namespace lockstep::test
