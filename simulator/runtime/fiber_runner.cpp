// Ranks as fibers: a seeded scheduler that always knows who is ready.
#include <exception>
#include <vector>

#include "core/base/errors.h"
#include "core/base/random.h"
#include "simulator/runtime/fibers.h"
#include "simulator/runtime/rank_runner.h"

namespace lockstep::sim {
namespace {

// Ready ranks, oldest first; each at most once.
class ReadyQueue {
 public:
  void reset(int capacity) {
    slots_.assign(static_cast<std::size_t>(capacity), 0);
    head_ = size_ = 0;
  }
  std::size_t size() const { return size_; }
  void push(int rank) { slots_[wrapped(head_ + size_++)] = rank; }
  int pop() { return pop_at(0); }
  // The one taken out leaves its place to the oldest.
  int pop_at(std::size_t position) {
    const int rank = slots_[wrapped(head_ + position)];
    slots_[wrapped(head_ + position)] = slots_[head_];
    head_ = wrapped(head_ + 1);
    --size_;
    return rank;
  }

 private:
  std::size_t wrapped(std::size_t i) const { return i < slots_.size() ? i : i - slots_.size(); }

  std::vector<int> slots_;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

class FiberRunner : public RankRunner {
 public:
  FiberRunner(std::uint64_t seed, std::size_t stack_bytes)
      : seed_(seed), stack_bytes_(stack_bytes) {}

  void run(int num_ranks, const RankHooks& hooks) override {
    ready_.reset(num_ranks);
    states_.assign(static_cast<std::size_t>(num_ranks), State::kReady);
    for (int i = 0; i < num_ranks; ++i) ready_.push(i);
    num_ranks_ = num_unfinished_ = num_ranks;
    Fibers fibers(
        num_ranks,
        stack_bytes_,
        [&](int i) {
          hooks.body(Rank{i});
          --num_unfinished_;
        },
        [this] { return next(); });
    fibers_ = &fibers;
    while (num_unfinished_ > 0) {
      if (ready_.size() == 0) cancel(hooks);
      fibers.switch_to(next());
    }
    fibers_ = nullptr;
  }

  void lock() override {}
  void unlock() override {}

  void park(Rank rank) override {
    State& state = states_[static_cast<std::size_t>(rank.value)];
    if (!cancelled_ && state != State::kWoken) {
      state = State::kParked;
      fibers_->switch_to(next());
    }
    state = State::kReady;
    if (cancelled_ && std::uncaught_exceptions() == 0) throw RankCancelled{};
  }

  void wake(Rank rank) override {
    State& state = states_[static_cast<std::size_t>(rank.value)];
    if (state == State::kParked) ready_.push(rank.value);
    state = State::kWoken;
  }

  void pause(Rank rank) override {
    if (seed_ == 0 || ready_.size() == 0 || cancelled_) return;
    if ((draw() & 1U) != 0) return;
    ready_.push(rank.value);
    const int chosen = next();
    if (chosen != rank.value) fibers_->switch_to(chosen);
  }

  bool cancelled() const override { return cancelled_; }

 private:
  enum class State : char { kReady, kParked, kWoken };

  std::uint64_t draw() {
    constexpr std::uint64_t kStream = 0x7363686564756c65ULL;  // "schedule", in ASCII
    return random_bits(seed_, kStream, num_draws_++) >> 8;
  }

  // The scheduler's own fiber where nobody is ready.
  int next() {
    if (ready_.size() == 0) return num_ranks_;
    if (seed_ == 0 || ready_.size() == 1) return ready_.pop();
    return ready_.pop_at(static_cast<std::size_t>(draw() % ready_.size()));
  }

  void cancel(const RankHooks& hooks) {
    hooks.all_wait();
    cancelled_ = true;
    for (int i = 0; i < num_ranks_; ++i) {
      if (states_[static_cast<std::size_t>(i)] == State::kParked) ready_.push(i);
    }
  }

  std::uint64_t seed_;
  std::size_t stack_bytes_;
  std::uint64_t num_draws_ = 0;
  ReadyQueue ready_;
  std::vector<State> states_;
  Fibers* fibers_ = nullptr;
  int num_ranks_ = 0;
  int num_unfinished_ = 0;
  bool cancelled_ = false;
};

}  // namespace

std::unique_ptr<RankRunner> make_fiber_runner(std::uint64_t schedule_seed,
                                              std::size_t stack_bytes) {
  return std::make_unique<FiberRunner>(schedule_seed, stack_bytes);
}

}  // namespace lockstep::sim
