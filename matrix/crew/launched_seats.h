// Seats on the processes that a launcher started: rank r sits with process r modulo their number.
// Process 0 is here; each other one is a follower, which looks after its ranks.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "matrix/crew/local_seats.h"
#include "matrix/crew/orders.h"

namespace lockstep::matrix {

class LaunchedSeats : public Seats {
 public:
  struct Options {
    std::vector<std::string> command;  // starts a rank's process here
    int num_processes = 1;             // that the launcher started
    // How long a follower may take to end its process.
    std::chrono::milliseconds patience{20000};
  };
  // The coordinator must outlive it.
  LaunchedSeats(backends::Coordinator& coordinator, const Options& options);

  void start(const backends::SeatId& id) override;
  std::string end(const backends::SeatId& id) override;
  std::optional<std::string> early_end(const std::vector<backends::SeatId>& ids) override;

  // To every follower, once it is here. False where one has not come before `patience` is over.
  bool say_goodbye();

 private:
  int process_of(const backends::SeatId& id) const { return id.seat % options_.num_processes; }
  void give_order(int process, const Order& order);
  bool is_here(int process);
  std::optional<std::string> answer(int process, const std::string& key);

  struct Follower {
    std::uint64_t num_orders = 0;
    std::string unanswered = {};  // key of what it did not answer in time
  };

  backends::Coordinator& coordinator_;
  Options options_;
  LocalSeats own_;
  std::vector<Follower> followers_;  // by process
};

}  // namespace lockstep::matrix
