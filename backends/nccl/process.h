// Where the rank threads of one process meet to enqueue a call together.
//
// The streams of a process share a few queues of the GPU, each first in, first out. Were one rank's
// part of a call enqueued, and what follows it, before another rank's part, the one that follows
// could stand in a queue before the part that it waits for: a deadlock on the GPU. So all parts of
// a call are enqueued together, once all have come, and nobody goes on before that. And calls are
// enqueued in the coordinator's order, the same in every process: else two calls among two
// processes could each stand behind what waits for the other.
#pragma once

#include <atomic>
#include <compare>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/nccl/plan.h"
#include "backends/nccl/transport.h"
#include "core/tensor/cuda/event.h"

struct ncclComm;  // NCCL's, whose header only sources see

namespace lockstep::backends {

// One rank's part of a call; all of it outlives the meeting.
struct NcclPart {
  Gpu* gpu = nullptr;
  ncclComm* communicator = nullptr;  // may be null where the plan has no operations
  void* stream = nullptr;            // cudaStream_t
  const NcclPlan* plan = nullptr;
  GpuEvent* done = nullptr;  // recorded once all is enqueued
};

// A call, as all of its members in this process name it.
struct NcclCallId {
  std::uint64_t trial = 0;
  std::uint64_t place = 0;  // among the trial's calls in this process, from 1
  auto operator<=>(const NcclCallId&) const = default;
};

struct NcclProcess::Impl {
  // Enqueues the parts of one call; what it throws is told to all who came.
  using EnqueueParts = std::function<void(std::span<const NcclPart>)>;
  explicit Impl(EnqueueParts enqueue_parts) : enqueue_parts_(std::move(enqueue_parts)) {}

  // The rank is served by this process, and takes part in the trial's calls until it leaves. With
  // the first rank of a trial the ones before it are forgotten.
  void join(std::uint64_t trial, Rank rank);
  void leave(std::uint64_t trial, Rank rank);

  // Returns once the parts of all of the members that this process serves are enqueued, after those
  // of the calls before it. NcclError where that fails, to all of them. A call that one of them has
  // left is never enqueued, nor is any after it: whoever comes to one stays until `check` throws.
  //
  // `check` is called while others are waited for. What it throws is thrown on once nobody else
  // uses the part: until then `check` must leave alone what the part refers to.
  void enqueue(const NcclCallId& call,
               std::span<const Rank> members,
               const NcclPart& part,
               const std::function<void()>& check);

  // Calls that are not enqueued, of the latest trial.
  std::size_t num_meetings();

 private:
  enum class State { kGathering, kComplete, kEnqueueing, kEnqueued, kFailed, kGivenUp };
  struct Meeting {
    std::atomic<State> state = State::kGathering;  // changed with the lock, read without it too
    std::vector<NcclPart> parts;
    std::size_t num_expected = 0;
    std::string failure;  // of kFailed
    std::condition_variable changed;

    bool has_ended() const {
      const State now = state;
      return now == State::kEnqueued || now == State::kFailed;
    }
  };
  using Lock = std::unique_lock<std::mutex>;

  std::shared_ptr<Meeting> meeting_of(const NcclCallId& call, std::span<const Rank> members);
  void enqueue_due(Lock& lock);
  void depart(Meeting& meeting, Lock& lock);
  void wait_for_others(Meeting& meeting, const std::function<void()>& check, Lock& lock);

  EnqueueParts enqueue_parts_;
  std::mutex mutex_;
  std::uint64_t trial_ = 0;         // the latest
  std::uint64_t num_enqueued_ = 0;  // of its calls
  bool is_enqueueing_ = false;
  std::set<std::pair<std::uint64_t, Rank>> served_;  // by trial
  std::set<std::pair<std::uint64_t, Rank>> left_;
  std::map<NcclCallId, std::shared_ptr<Meeting>> meetings_;
};

}  // namespace lockstep::backends
