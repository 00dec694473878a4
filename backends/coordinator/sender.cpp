// Gathers, sends, and beats.
#include "backends/coordinator/sender.h"

#include "backends/coordinator/protocol.h"

namespace lockstep::backends {

Sender::Sender(Socket& socket, std::chrono::milliseconds patience)
    : socket_(socket), patience_(patience), thread_([this] { beat(); }) {}

Sender::~Sender() {
  {
    const std::lock_guard guard(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Sender::add(std::string_view frame) {
  const std::lock_guard guard(mutex_);
  added_.append(frame);
}

void Sender::flush() {
  const std::lock_guard guard(mutex_);
  send_locked();
}

void Sender::send_locked() {
  if (added_.empty()) return;
  socket_.send(added_, std::chrono::steady_clock::now() + patience_);
  added_.clear();
}

void Sender::start_heartbeats(std::chrono::milliseconds interval) {
  {
    const std::lock_guard guard(mutex_);
    interval_ = interval;
  }
  changed_.notify_one();
}

void Sender::stop_heartbeats() { start_heartbeats(std::chrono::milliseconds{0}); }

void Sender::beat() {
  const std::string heartbeat = frame_of(FromRank(Heartbeat{}));
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (interval_.count() == 0) {
      changed_.wait(lock);
      continue;
    }
    if (changed_.wait_for(lock, interval_) == std::cv_status::no_timeout) continue;
    if (ends_ || interval_.count() == 0) continue;
    try {
      added_.append(heartbeat);
      send_locked();
    } catch (const SocketError&) {
      // The rank's own thread meets it, and can tell somebody.
      interval_ = std::chrono::milliseconds{0};
    }
  }
}

}  // namespace lockstep::backends
