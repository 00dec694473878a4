// Seats on the processes that a launcher started: rank r sits with process r modulo their number.
// Process 0 is here; each other one is a follower, which looks after its ranks.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "matrix/crew/orders.h"
#include "matrix/crew/seats.h"

namespace lockstep::matrix {

class LaunchedSeats : public Seats {
 public:
  struct Options {
    SeatKind kind = SeatKind::kProcesses;
    std::vector<std::string> command;  // starts a rank's process here, or that of all ranks here
    std::vector<std::string> followers_words = {};  // which followers append to their command
    int num_processes = 1;                          // that the launcher started
    // How long a follower may take to end its process.
    std::chrono::milliseconds patience{20000};
  };
  // The coordinator must outlive it.
  LaunchedSeats(backends::Coordinator& coordinator, const Options& options);

  int process_of(int seat) const override;
  void start(const backends::SeatId& id) override;
  std::string end(const backends::SeatId& id) override;
  std::optional<std::string> early_end(const std::vector<backends::SeatId>& ids) override;

  // What the follower said of itself when it came; none where it has not come before then.
  std::optional<std::string> arrival(int process, std::chrono::milliseconds patience);

  // To every follower, once it is here. False where one has not come before `patience` is over.
  bool say_goodbye();

 private:
  // As the launcher numbers them.
  int launched_process_of(int seat) const { return seat % options_.num_processes; }
  void give_order(int process, const Order& order);
  bool is_here(int process);
  std::optional<std::string> answer(int process, const std::string& key);

  struct Follower {
    std::uint64_t num_orders = 0;
    std::string unanswered = {};  // key of what it did not answer in time
  };

  backends::Coordinator& coordinator_;
  Options options_;
  std::unique_ptr<Seats> own_;
  std::vector<Follower> followers_;  // by process
};

}  // namespace lockstep::matrix
