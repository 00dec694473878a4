// Between launches on a GPU and what must be enqueued on it as one piece.
//
// A launch may make its thread wait for all that runs on the GPU: where a kernel is loaded at its
// first use, or a library takes memory. If it did so while one half of a collective runs and the
// other half is about to be enqueued by another thread, which the driver holds up meanwhile, nobody
// could go on. So whoever enqueues a collective closes the gate first; whoever is inside by then
// waits for whole collectives only.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

namespace lockstep {

class LaunchGate {
 public:
  // For as long as it lives its thread is inside; many may be.
  class Pass {
   public:
    explicit Pass(LaunchGate& gate) : gate_(gate) { gate_.enter(); }
    ~Pass() { --gate_.num_inside_; }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    LaunchGate& gate_;
  };

  // For as long as it lives nobody is inside. Waits until all have left; its own thread must not be
  // inside.
  class Closed {
   public:
    explicit Closed(LaunchGate& gate) : gate_(gate), one_at_a_time_(gate.closing_) {
      gate_.is_closed_ = true;
      while (gate_.num_inside_ > 0) std::this_thread::yield();
    }
    ~Closed() { gate_.is_closed_ = false; }
    Closed(const Closed&) = delete;
    Closed& operator=(const Closed&) = delete;

   private:
    LaunchGate& gate_;
    std::lock_guard<std::mutex> one_at_a_time_;
  };

 private:
  // Who closes goes first: else threads that launch all the time would keep it out.
  void enter() {
    while (true) {
      while (is_closed_) std::this_thread::yield();
      ++num_inside_;
      if (!is_closed_) return;
      --num_inside_;
    }
  }

  std::atomic<bool> is_closed_ = false;
  std::atomic<int> num_inside_ = 0;
  std::mutex closing_;
};

}  // namespace lockstep
