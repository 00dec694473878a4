// One rank's communicators of NCCL, its stream and its events.
//
// Set-up is collective and blocks inside NCCL: where a peer dies in it, whoever started the process
// ends it. (Communicators that do not block start a thread for each call, which costs more than a
// small call does.) What was given up is never used again: the coordinator's next line-up has
// another number.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/nccl/patience.h"
#include "backends/nccl/transport.h"
#include "core/tensor/cuda/event.h"

namespace lockstep::backends {

// Which group each rank is in, as the group's lowest rank; -1: in none of two or more.
using Partition = std::vector<int>;
Partition partition_of(const Mesh& mesh, GroupKind kind);

// A communicator for each kind of group; null where this rank has no such group of two or more.
using CommunicatorsByKind = std::array<ncclComm*, kNumGroupKinds>;

struct NcclConnections::Impl {
  Impl(NcclProcess& shared, CoordinatorClient& line, Gpu& ours, const Options& chosen);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Collective over the trial's world. NcclError where it does not succeed in time, or where what
  // this line-up has connected was given up.
  CommunicatorsByKind begin_trial(const TrialOrder& order, const Mesh& mesh);

  // Of a loop that polls; `since` when work last moved. What keeps it from going on ends it:
  // RankCancelled, NcclError ("WHAT: NCCL ...") or ConnectionLost.
  void look(NcclPatience::Clock::time_point since, const std::function<std::string()>& what);
  // Likewise, after abort(): where no other thread uses the communicators.
  void check(NcclPatience::Clock::time_point since, const std::function<std::string()>& what);
  // Polls until it is done, without exceptions: false where the work was given up.
  bool settle(const std::function<bool()>& is_done, bool may_wait);

  // Ends whatever is under way on the trial's communicators, which cannot be used again.
  void abort();
  // Some call of the trial was not carried out: peers may stand in it.
  void spoil() { current().is_spoiled = true; }

  NcclProcess::Impl& process() { return process_; }
  Gpu& gpu() { return gpu_; }
  void* stream() const { return lane_.stream; }  // cudaStream_t, of this rank's transfers
  // Times that this rank took part in making a communicator: what is kept is not made again.
  int num_set_ups() const { return num_set_ups_; }

  std::unique_ptr<GpuEvent> take_event();
  void give_back(std::unique_ptr<GpuEvent> event) { free_events_.push_back(std::move(event)); }

 private:
  // Of one line-up.
  struct Connected {
    std::uint64_t lineup = 0;
    int incarnation = 0;
    bool is_spoiled = false;
    ncclComm* world = nullptr;
    std::map<Partition, ncclComm*> parts;  // null on ranks that are in no group of it

    std::vector<ncclComm*> communicators() const;
  };

  Connected& current() { return by_world_[world_size_]; }
  void connect_world(const TrialOrder& order);
  std::string key_of(const TrialOrder& order);
  void meet(const std::string& key, const TrialOrder& order);
  ncclComm* communicator_of(const Partition& partition);
  void split(const Partition& partition, ncclComm*& part);
  void drop(Connected& connected);

  NcclProcess::Impl& process_;
  CoordinatorClient& client_;
  Gpu& gpu_;
  Options options_;
  NcclPatience patience_;
  Lane& lane_;
  Rank rank_;
  int world_size_ = 1;
  int num_set_ups_ = 0;
  std::map<int, Connected> by_world_;  // the latest line-up of so many ranks
  std::vector<std::unique_ptr<GpuEvent>> free_events_;
};

// abort() at its end, unless what might have failed is `done`.
class AbortUnlessDone {
 public:
  explicit AbortUnlessDone(NcclConnections::Impl& connections) : connections_(connections) {}
  ~AbortUnlessDone() {
    if (!done) connections_.abort();
  }
  AbortUnlessDone(const AbortUnlessDone&) = delete;
  AbortUnlessDone& operator=(const AbortUnlessDone&) = delete;

  bool done = false;

 private:
  NcclConnections::Impl& connections_;
};

}  // namespace lockstep::backends
