// A part of the suite: one aspect of the contract, held against one backend in one world.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/backends/conformance/backends.h"

namespace lockstep::test {

struct PartReport {
  std::int64_t num_calls = 0;           // made by ranks, counted by the suite itself
  std::int64_t num_checks = 0;          // things compared
  std::vector<std::string> complaints;  // none: the backend does what it must
};

struct Part {
  std::string name;
  std::vector<int> worlds;  // world sizes in which it is run
  std::function<PartReport(const TestedBackend&, int world)> check;
};

// All of them.
std::vector<Part> parts();

// One of them each, see the files of these names.
PartReport check_collective(CollectiveKind kind, const TestedBackend& backend, int world);
PartReport check_messages(const TestedBackend& backend, int world);
PartReport check_in_flight(const TestedBackend& backend, int world);
PartReport check_barrier(const TestedBackend& backend, int world);
PartReport check_special_values(const TestedBackend& backend, int world);
PartReport check_adjoints(const TestedBackend& backend, int world);
PartReport check_arguments(const TestedBackend& backend, int world);
PartReport check_mismatches(const TestedBackend& backend, int world);
PartReport check_endings(const TestedBackend& backend, int world);
PartReport check_unsupported(const TestedBackend& backend, int world);

// What one rank has done and found; each has its own.
struct RankNotes {
  std::int64_t num_calls = 0;
  std::int64_t num_checks = 0;
  std::vector<std::string> complaints;

  // One more thing compared; an empty complaint is none.
  void check(const std::string& complaint);
};

// Runs a program that must end well: every call that a rank has noted was submitted and matched.
PartReport run_part(const TestedBackend& backend,
                    int world,
                    const std::function<void(TestRank&, RankNotes&)>& program);

// A rank's communicators, one a kind of group; none where the rank is in no group of the kind.
std::vector<std::unique_ptr<Communicator>> connect_all(const TestRank& rank,
                                                       const std::vector<GroupKind>& kinds);
GroupRank rank_in(const Communicator& communicator, Rank rank);

}  // namespace lockstep::test
