// Ranks as threads, really concurrent: the last one to park or end notices that all wait.
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "core/base/errors.h"
#include "simulator/runtime/rank_runner.h"

namespace lockstep::sim {
namespace {

class ThreadRunner : public RankRunner {
 public:
  void run(int num_ranks, const RankHooks& hooks) override {
    hooks_ = &hooks;
    seats_ = std::vector<Seat>(static_cast<std::size_t>(num_ranks));
    // Those not started yet count as running, or the first ones would look deadlocked.
    num_running_ = num_unfinished_ = num_ranks;
    std::vector<std::thread> threads;
    threads.reserve(seats_.size());
    std::string refused;
    for (int i = 0; i < num_ranks && refused.empty(); ++i) {
      try {
        threads.emplace_back([this, i] { run_rank(Rank{i}); });
      } catch (const std::system_error& error) {
        refused = error.what();
      }
    }
    if (!refused.empty()) {
      const std::lock_guard guard(*this);
      cancel();
    }
    for (std::thread& thread : threads) thread.join();
    if (!refused.empty()) {
      throw UsageError("thread " + std::to_string(threads.size()) + " of " +
                       std::to_string(num_ranks) + " could not be started (" + refused +
                       "); fibers need no threads");
    }
  }

  void lock() override { mutex_.lock(); }
  void unlock() override { mutex_.unlock(); }

  void park(Rank rank) override {
    Seat& seat = seats_[static_cast<std::size_t>(rank.value)];
    if (!seat.woken && !cancelled_) {
      seat.parked = true;
      stopped_running();
      // Adopted and released: the mutex is the caller's before and after.
      std::unique_lock<std::mutex> held(mutex_, std::adopt_lock);
      seat.changed.wait(held, [&] { return seat.woken || cancelled_; });
      held.release();
      seat.parked = false;
    }
    seat.woken = false;
    if (cancelled_ && std::uncaught_exceptions() == 0) throw RankCancelled{};
  }

  void wake(Rank rank) override {
    Seat& seat = seats_[static_cast<std::size_t>(rank.value)];
    // Counted as running from here on, not from when it gets the processor.
    if (seat.parked && !seat.woken) ++num_running_;
    seat.woken = true;
    seat.changed.notify_one();
  }

  void pause(Rank) override {}

  bool cancelled() const override { return cancelled_; }

 private:
  struct Seat {
    std::condition_variable changed;
    bool parked = false;
    bool woken = false;
  };

  void run_rank(Rank rank) {
    hooks_->body(rank);
    const std::lock_guard guard(*this);
    --num_unfinished_;
    stopped_running();
  }

  void stopped_running() {
    if (--num_running_ > 0 || num_unfinished_ == 0 || cancelled_) return;
    hooks_->all_wait();
    cancel();
  }

  void cancel() {
    cancelled_ = true;
    for (Seat& seat : seats_) seat.changed.notify_one();
  }

  std::mutex mutex_;
  const RankHooks* hooks_ = nullptr;
  std::vector<Seat> seats_;
  int num_running_ = 0;
  int num_unfinished_ = 0;
  bool cancelled_ = false;
};

}  // namespace

std::unique_ptr<RankRunner> make_thread_runner() { return std::make_unique<ThreadRunner>(); }

}  // namespace lockstep::sim
