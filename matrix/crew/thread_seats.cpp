// One child, told its seats line by line, which tells in return which of its threads have ended.
#include "matrix/crew/thread_seats.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "matrix/crew/host_process.h"
#include "matrix/sweep/worker_pool.h"
#include "matrix/sweep/write_all.h"

namespace lockstep::matrix {

using backends::SeatId;

ThreadSeats::~ThreadSeats() {
  if (host_) end_host();
}

void ThreadSeats::start(const SeatId& id) {
  if (!host_) host_ = start_host(command_);
  serving_.insert(id);
  // One that takes no more lines has ended: early_end tells how.
  write_all(host_->orders, to_line(id));
}

std::string ThreadSeats::end(const SeatId& id) {
  take_notices();
  if (!ended_.contains(id)) {
    if (!serving_.contains(id)) return "was never started";
    end_host();
  }
  std::string how = std::move(ended_.extract(id).mapped());
  if (host_ && serving_.empty()) end_host();
  return how;
}

std::optional<std::string> ThreadSeats::early_end(const std::vector<SeatId>& ids) {
  take_notices();
  for (const SeatId& id : ids) {
    const auto ended = ended_.find(id);
    if (ended == ended_.end()) continue;
    return "rank " + std::to_string(id.seat) + " has ended: " + ended->second;
  }
  if (!host_ || !has_ended(host_->pid)) return std::nullopt;
  for (const SeatId& id : ids) {
    if (!serving_.contains(id)) continue;
    return "the process of rank " + std::to_string(id.seat) + " has ended: " + end(id);
  }
  return std::nullopt;
}

// A thread gives notice before its line to the coordinator breaks: whoever has seen that finds the
// notice here, or else the process itself is ending.
void ThreadSeats::take_notices() {
  if (!host_) return;
  std::array<char, 4096> room;
  ssize_t num_bytes = 0;
  while ((num_bytes = ::read(host_->notices, room.data(), room.size())) > 0) {
    notices_.append(room.data(), static_cast<std::size_t>(num_bytes));
  }
  std::size_t end = 0;
  while ((end = notices_.find('\n')) != std::string::npos) {
    const std::optional<EndNotice> notice = notice_from_line(notices_.substr(0, end));
    notices_.erase(0, end + 1);
    if (!notice || serving_.erase(notice->id) == 0) continue;
    ended_[notice->id] = "its thread has ended" + (notice->why.empty() ? "" : ": " + notice->why);
  }
}

// With all that it serves.
std::string ThreadSeats::end_host() {
  std::string how = end_process(host_->pid);
  ::close(host_->orders);
  ::close(host_->notices);
  host_.reset();
  notices_.clear();
  for (const SeatId& id : std::exchange(serving_, {})) ended_[id] = how;
  return how;
}

}  // namespace lockstep::matrix
