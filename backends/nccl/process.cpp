// Meetings of rank threads, by call.
#include "backends/nccl/process.h"

#include <chrono>
#include <exception>
#include <thread>

#include "backends/nccl/collectives.h"

namespace lockstep::backends {
namespace {

// One that waits looks so often before it begins to sleep, and gives way so often between two
// looks: others mostly come within microseconds, and each look takes the lock. (A test waits for
// 100 looks to see it sleep.)
constexpr int kNumShortWaits = 32;
constexpr int kYieldsPerLook = 64;
constexpr std::chrono::milliseconds kLongWait{1};

// Also where an exception ends the scope.
template <typename Body>
class AtExit {
 public:
  explicit AtExit(const Body& body) : body_(body) {}
  ~AtExit() { body_(); }
  AtExit(const AtExit&) = delete;
  AtExit& operator=(const AtExit&) = delete;

 private:
  Body body_;
};

}  // namespace

NcclProcess::NcclProcess() : impl_(std::make_unique<Impl>(enqueue_parts)) {}
NcclProcess::~NcclProcess() = default;

void NcclProcess::Impl::join(std::uint64_t trial, Rank rank) {
  const std::lock_guard guard(mutex_);
  if (trial > trial_) {
    trial_ = trial;
    served_.clear();
    left_.clear();
    num_enqueued_ = 0;
    meetings_.clear();  // those that still wait in one have it themselves
  }
  served_.insert({trial, rank});
}

void NcclProcess::Impl::leave(std::uint64_t trial, Rank rank) {
  const std::lock_guard guard(mutex_);
  if (served_.erase({trial, rank}) != 0) left_.insert({trial, rank});
}

std::size_t NcclProcess::Impl::num_meetings() {
  const std::lock_guard guard(mutex_);
  return meetings_.size();
}

// The word to go comes after all members have submitted, hence joined: who is served is known. One
// that has left since will not come, and without its part NCCL would never end the call: the
// trial's end frees those that come.
std::shared_ptr<NcclProcess::Impl::Meeting> NcclProcess::Impl::meeting_of(
    const NcclCallId& call, std::span<const Rank> members) {
  std::shared_ptr<Meeting>& meeting = meetings_[call];
  if (meeting != nullptr) return meeting;
  meeting = std::make_shared<Meeting>();
  for (const Rank member : members) {
    if (served_.contains({call.trial, member})) ++meeting->num_expected;
    if (left_.contains({call.trial, member})) meeting->state = State::kGivenUp;
  }
  return meeting;
}

void NcclProcess::Impl::enqueue(const NcclCallId& call,
                                std::span<const Rank> members,
                                const NcclPart& part,
                                const std::function<void()>& check) {
  Lock lock(mutex_);
  const std::shared_ptr<Meeting> meeting = meeting_of(call, members);
  meeting->parts.push_back(part);
  const bool is_last = meeting->parts.size() == meeting->num_expected;
  if (is_last && meeting->state == State::kGathering) {
    meeting->state = State::kComplete;
    enqueue_due(lock);
  }
  wait_for_others(*meeting, check, lock);
  if (meeting->state == State::kFailed) throw NcclError(meeting->failure);
}

// One call after the other, whosever it is; without the lock, for to connect with another process
// may take its time.
void NcclProcess::Impl::enqueue_due(Lock& lock) {
  while (!is_enqueueing_) {
    const auto next = meetings_.find({.trial = trial_, .place = num_enqueued_ + 1});
    if (next == meetings_.end() || next->second->state != State::kComplete) return;
    const std::shared_ptr<Meeting> meeting = next->second;
    const NcclCallId call = next->first;
    meeting->state = State::kEnqueueing;
    is_enqueueing_ = true;
    lock.unlock();
    State state = State::kEnqueued;
    try {
      enqueue_parts_(meeting->parts);
    } catch (const std::exception& error) {
      meeting->failure = error.what();
      state = State::kFailed;
    }
    lock.lock();
    is_enqueueing_ = false;
    if (call.trial == trial_) ++num_enqueued_;
    meeting->state = state;
    meetings_.erase(call);
    meeting->changed.notify_all();
  }
}

// Whoever leaves takes its part along, so that the call must not be enqueued any more; while that
// is under way, nobody leaves.
void NcclProcess::Impl::depart(Meeting& meeting, Lock& lock) {
  meeting.changed.wait(lock, [&] { return meeting.state != State::kEnqueueing; });
  if (!meeting.has_ended()) meeting.state = State::kGivenUp;
}

void NcclProcess::Impl::wait_for_others(Meeting& meeting,
                                        const std::function<void()>& check,
                                        Lock& lock) {
  const AtExit leave([&] {
    if (!meeting.has_ended()) depart(meeting, lock);
  });
  for (int num_waits = 0; !meeting.has_ended(); ++num_waits) {
    {
      lock.unlock();
      const AtExit relock([&] { lock.lock(); });
      const int num_yields = num_waits < kNumShortWaits ? kYieldsPerLook : 0;
      for (int i = 0; i < num_yields && !meeting.has_ended(); ++i) std::this_thread::yield();
      check();
    }
    if (num_waits < kNumShortWaits || meeting.has_ended()) continue;
    meeting.changed.wait_for(lock, kLongWait);
  }
}

}  // namespace lockstep::backends
