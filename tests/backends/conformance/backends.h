// The backends that the suite holds to the port's contract, each as a value.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "backends/matching/finding.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {

using RankProgram = std::function<void(TestRank&)>;

struct RunOutcome {
  std::vector<backends::Finding> findings;
  std::int64_t num_calls = 0;
  std::int64_t num_matched = 0;
};

// How many of the possible calls a backend is asked to make.
enum class Coverage {
  kFull,       // all combinations of all factors, in every world
  kThinnedBy4  // from four ranks on each pair of two factors' values, in few calls
};

// Ranks share the memory of the process that calls `run`.
struct TestedBackend {
  std::string name;         // of tests: letters and '_'
  std::string absent = {};  // why it cannot be run here, empty where it can
  bool on_gpu = false;      // tested by an executable of its own
  Coverage coverage = Coverage::kFull;
  std::function<RunOutcome(const Layout&, const RankProgram&)> run = {};
};
void PrintTo(const TestedBackend& backend, std::ostream* out);

// Those that the project knows.
std::vector<TestedBackend> known_backends();
// Of those, what this executable tests and can run here.
std::vector<TestedBackend> tested_backends();

// What a backend says of a type of call.
struct Capability {
  CallType type;
  Support support;
};
// Of every type that differs: an op only where something is reduced, a barrier once. Asked on a
// rank that has not connected.
std::vector<Capability> capabilities_of(const TestedBackend& backend);
std::string to_text(const CallType& type);  // all_reduce bf16 max
bool can_do(const std::vector<Capability>& capabilities, const CallType& type);

// One layout a world size of 1 to 8: its groups of these kinds, the whole world first, are called
// on. Where the size has factors, groups that are not the first of their kind and whose members do
// not have the ranks of the world; of a prime size the first and last rank.
Layout layout_of_world(int world);
std::vector<GroupKind> group_kinds_of_world(int world);
inline constexpr int kMaxWorld = 8;

}  // namespace lockstep::test
