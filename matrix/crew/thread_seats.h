// Seats on this machine, all of them threads of one process: a child of this one that never
// outlives it. It is started with the first seat, and again with the first one after its end.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "matrix/crew/seats.h"
#include "matrix/sweep/worker_process.h"

namespace lockstep::matrix {

class ThreadSeats : public Seats {
 public:
  // `command` starts the process (host_process.h tells what it does). SIGPIPE must be ignored here.
  explicit ThreadSeats(std::vector<std::string> command) : command_(std::move(command)) {}
  ~ThreadSeats() override;
  ThreadSeats(const ThreadSeats&) = delete;
  ThreadSeats& operator=(const ThreadSeats&) = delete;

  int process_of(int /*seat*/) const override { return 0; }
  void start(const backends::SeatId& id) override;
  std::string end(const backends::SeatId& id) override;
  std::optional<std::string> early_end(const std::vector<backends::SeatId>& ids) override;

 private:
  void take_notices();
  std::string end_host();

  std::vector<std::string> command_;
  std::optional<StartedHost> host_;
  std::string notices_;                            // read, and not yet a whole line
  std::set<backends::SeatId> serving_;             // by all that is known
  std::map<backends::SeatId, std::string> ended_;  // how; until somebody asks
};

}  // namespace lockstep::matrix
