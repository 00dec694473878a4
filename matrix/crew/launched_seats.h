// Seats that a launcher gave: rank 0's is here, each other one is looked after by its follower.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "matrix/crew/local_seats.h"

namespace lockstep::matrix {

class LaunchedSeats : public Seats {
 public:
  struct Options {
    std::vector<std::string> command;  // of rank 0's own process
    int num_processes = 1;             // that the launcher started
    std::string launcher;              // "mpirun"
    // How long a follower may take to end its process.
    std::chrono::milliseconds patience{20000};
  };
  // The coordinator must outlive it.
  LaunchedSeats(backends::Coordinator& coordinator, const Options& options);

  int capacity() const override { return options_.num_processes; }
  void start(const backends::SeatId& id) override;
  std::string end(const backends::SeatId& id) override;
  std::optional<std::string> early_end() override { return own_.early_end(); }
  std::string why_no_more() const override;

  // To every follower, once it is here. False where one has not come before `patience` is over.
  bool say_goodbye();

 private:
  void give_order(int rank, const std::string& order);

  backends::Coordinator& coordinator_;
  Options options_;
  LocalSeats own_;
  std::vector<std::uint64_t> num_orders_;  // by rank
};

}  // namespace lockstep::matrix
