// What a rank sends: gathered until it waits, and a word of life at intervals during a trial.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "backends/coordinator/socket.h"

namespace lockstep::backends {

class Sender {
 public:
  // The socket must outlive it. `patience`: how long the other end may take nothing.
  Sender(Socket& socket, std::chrono::milliseconds patience);
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  void add(std::string_view frame);
  // Sends what has been added. SocketError.
  void flush();

  // From another thread, which also sends what has been added: the coordinator learns what a rank
  // did before it began to compute for long.
  void start_heartbeats(std::chrono::milliseconds interval);
  void stop_heartbeats();

 private:
  void beat();
  void send_locked();

  Socket& socket_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string added_;
  std::chrono::milliseconds interval_{0};  // 0: no heartbeats
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace lockstep::backends
