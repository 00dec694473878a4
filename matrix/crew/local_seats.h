// Seats on this machine, each a process of its own: a child of this one that never outlives it.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "matrix/crew/seats.h"

namespace lockstep::matrix {

class LocalSeats : public Seats {
 public:
  // `command` starts a rank's process; the seat and its generation are appended as options.
  explicit LocalSeats(std::vector<std::string> command) : command_(std::move(command)) {}
  ~LocalSeats() override;
  LocalSeats(const LocalSeats&) = delete;
  LocalSeats& operator=(const LocalSeats&) = delete;

  int process_of(int seat) const override { return seat; }
  void start(const backends::SeatId& id) override;
  std::string end(const backends::SeatId& id) override;
  std::optional<std::string> early_end(const std::vector<backends::SeatId>& ids) override;

 private:
  std::vector<std::string> command_;
  std::map<backends::SeatId, pid_t> processes_;
};

}  // namespace lockstep::matrix
