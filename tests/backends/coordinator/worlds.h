// Ranks as threads, each with its own line to a coordinator, and trials of programs on them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backends/coordinator/client.h"
#include "backends/coordinator/coordinator.h"
#include "core/comm/mesh.h"

namespace lockstep::test {

// A rank of a trial in its thread. Its end (returned, threw ...) is told for it.
struct RankLine {
  backends::CoordinatorClient& client;
  Rank rank;
  const Mesh& mesh;
  std::string request;
  std::vector<backends::Go> gos = {};  // that it has carried out

  Group group(GroupKind kind) const { return *mesh.group_of(kind, rank); }
  // A call in a submit of its own.
  void submit(int communicator, const CollectiveCall& call) const;
  // Carries out what it is told to until that submit, of collectives only, has been done.
  void wait(int communicator, std::uint64_t sequence);
};
using LineProgram = std::function<std::string(RankLine&)>;

// Thrown by a program that is to end as a killed process does: its line just breaks.
struct LineBreaks {};

class World {
 public:
  explicit World(int tp, int dp = 1);
  ~World();

  // Serves trials until the goodbye or its line's end.
  void serve(int seat, std::uint64_t generation, const LineProgram& program);
  // In a thread of its own.
  void seat(int seat, std::uint64_t generation, const LineProgram& program);
  void start(const std::function<void()>& body) { threads_.emplace_back(body); }
  backends::CoordinatorClient::Options options(int seat, std::uint64_t generation = 0) const;

  // One trial: rank i on seat i of that generation, which are waited for.
  backends::TrialOutcome run(std::uint64_t generation = 0,
                             std::chrono::milliseconds stall = std::chrono::seconds(30));
  // Of seats that are not waited for.
  backends::TrialOutcome run_at_once(std::uint64_t generation,
                                     std::chrono::milliseconds stall = std::chrono::seconds(30));
  // Seats for all ranks in generation 0, then one trial.
  backends::TrialOutcome run_once(const LineProgram& program,
                                  std::chrono::milliseconds stall = std::chrono::seconds(30));

  const Mesh& mesh() const { return mesh_; }
  backends::Coordinator& coordinator() { return coordinator_; }
  // Seats after whose end it was asked.
  int num_questions() const { return num_questions_; }
  // Until so many programs were told that their trial is over.
  void wait_for_cancelled(int num);

 private:
  std::vector<backends::SeatId> seats(std::uint64_t generation) const;

  Mesh mesh_;
  backends::Coordinator coordinator_;
  int num_questions_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  int num_cancelled_ = 0;
  std::vector<std::thread> threads_;
};

// A call on an f64 buffer that nobody looks into.
CollectiveCall all_reduce(std::string_view label, std::int64_t count = 4);
CollectiveCall send(std::string_view label, int peer, std::int64_t count = 4);
CollectiveCall recv(std::string_view label, int peer, std::int64_t count = 4);

// All findings' messages, a line each.
std::string messages(const backends::TrialOutcome& outcome);

}  // namespace lockstep::test
