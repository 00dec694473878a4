// Children of this process, one a seat; and which kind of seats is made.
#include "matrix/crew/local_seats.h"

#include "core/base/errors.h"
#include "matrix/crew/thread_seats.h"
#include "matrix/sweep/worker_process.h"

namespace lockstep::matrix {

LocalSeats::~LocalSeats() {
  for (const auto& [id, pid] : processes_) end_process(pid);
}

void LocalSeats::start(const backends::SeatId& id) {
  std::vector<std::string> command = command_;
  command.insert(
      command.end(),
      {"--seat", std::to_string(id.seat), "--generation", std::to_string(id.generation)});
  processes_[id] = start_child(command);
}

std::string LocalSeats::end(const backends::SeatId& id) {
  const auto process = processes_.find(id);
  if (process == processes_.end()) return "was never started";
  std::string how = end_process(process->second);
  processes_.erase(process);
  return how;
}

std::optional<std::string> LocalSeats::early_end(const std::vector<backends::SeatId>& ids) {
  for (const backends::SeatId& id : ids) {
    const auto process = processes_.find(id);
    if (process == processes_.end() || !has_ended(process->second)) continue;
    return "the process of rank " + std::to_string(id.seat) + " has ended: " + end(id);
  }
  return std::nullopt;
}

std::unique_ptr<Seats> make_local_seats(SeatKind kind, const std::vector<std::string>& command) {
  switch (kind) {
    case SeatKind::kProcesses:
      return std::make_unique<LocalSeats>(command);
    case SeatKind::kThreads:
      return std::make_unique<ThreadSeats>(command);
  }
  throw InternalError("unknown kind of seats");
}

}  // namespace lockstep::matrix
