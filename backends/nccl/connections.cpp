// Sets communicators up, splits them, and gives them up.
#include "backends/nccl/connections.h"

#include <fmt/format.h>
#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "backends/nccl/api.h"
#include "core/base/errors.h"

namespace lockstep::backends {
namespace {

// Ways to cut one world that are kept at a time: all its ranks count alike, so that they start anew
// in the same trial.
constexpr std::size_t kMaxPartitions = 24;

bool is_whole_world(const Partition& partition) {
  return std::all_of(partition.begin(), partition.end(), [](int lowest) { return lowest == 0; });
}

bool is_of_single_ranks(const Partition& partition) {
  return std::all_of(partition.begin(), partition.end(), [](int lowest) { return lowest < 0; });
}

}  // namespace

Partition partition_of(const Mesh& mesh, GroupKind kind) {
  Partition partition(static_cast<std::size_t>(mesh.world()), -1);
  for (const Group& group : mesh.groups(kind)) {
    if (group.size() == 1) continue;
    const int lowest = std::min_element(group.ranks.begin(), group.ranks.end())->value;
    for (const Rank member : group.ranks) {
      partition[static_cast<std::size_t>(member.value)] = lowest;
    }
  }
  return partition;
}

std::vector<ncclComm*> NcclConnections::Impl::Connected::communicators() const {
  std::vector<ncclComm*> all;
  for (const auto& [partition, part] : parts) {
    if (part != nullptr) all.push_back(part);
  }
  if (world != nullptr) all.push_back(world);
  return all;
}

NcclConnections::Impl::Impl(NcclProcess& shared,
                            CoordinatorClient& line,
                            Gpu& ours,
                            const Options& chosen)
    : process_(shared.impl()),
      client_(line),
      gpu_(ours),
      options_(chosen),
      patience_(line, chosen.timeout),
      lane_(ours.take_lane()) {}

NcclConnections::Impl::~Impl() {
  try {
    gpu_.enter();
  } catch (const CudaError&) {
    // The GPU is lost, and NCCL says so of every communicator.
  }
  for (auto& [world_size, connected] : by_world_) drop(connected);
  gpu_.give_back(lane_);
}

CommunicatorsByKind NcclConnections::Impl::begin_trial(const TrialOrder& order, const Mesh& mesh) {
  gpu_.enter();
  rank_ = order.rank;
  world_size_ = order.world;
  Connected& connected = current();
  const bool is_known = connected.lineup == order.lineup;
  if (is_known && connected.is_spoiled) {
    throw NcclError(fmt::format(
        "rank {}: its communicators of NCCL were given up and cannot be used again", rank_.value));
  }
  const bool is_full = is_known && connected.parts.size() > kMaxPartitions;
  if (!is_known || is_full) {
    drop(connected);
    const int incarnation = is_full ? connected.incarnation + 1 : 0;
    connected = {.lineup = order.lineup, .incarnation = incarnation, .world = nullptr, .parts = {}};
  }
  const int num_before = num_set_ups_;
  CommunicatorsByKind by_kind{};
  for (int i = 0; i < kNumGroupKinds; ++i) {
    const Partition partition = partition_of(mesh, static_cast<GroupKind>(i));
    if (is_of_single_ranks(partition)) continue;
    if (connected.world == nullptr) connect_world(order);
    by_kind[static_cast<std::size_t>(i)] = communicator_of(partition);
  }
  // Set-up may make a thread wait for all that runs on the GPU: nobody calls before all have done.
  if (num_set_ups_ > num_before) {
    meet(fmt::format("{}/with {} parts", key_of(order), connected.parts.size()), order);
  }
  return by_kind;
}

std::string NcclConnections::Impl::key_of(const TrialOrder& order) {
  return fmt::format("nccl/{}/{}/{}", order.world, current().lineup, current().incarnation);
}

void NcclConnections::Impl::connect_world(const TrialOrder& order) {
  Connected& connected = current();
  const std::string doing =
      fmt::format("rank {}: setting NCCL up among {} ranks on GPUs", order.rank.value, order.world);
  const std::string key = key_of(order);
  ncclUniqueId id;
  if (order.rank.value == 0) {
    check_nccl(ncclGetUniqueId(&id), doing);
    client_.set(key, std::string_view(id.internal, sizeof(id.internal)));
  } else {
    const std::string text = client_.get(key, options_.timeout);
    LOCKSTEP_CHECK(text.size() == sizeof(id.internal), "NCCL's unique id has another size");
    std::memcpy(id.internal, text.data(), sizeof(id.internal));
  }
  meet(key, order);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  if (options_.shares_gpu) config.minCTAs = config.maxCTAs = 1;
  connected.is_spoiled = true;  // until it stands
  ++num_set_ups_;
  check_nccl(ncclCommInitRankConfig(&connected.world, order.world, id, order.rank.value, &config),
             doing);
  connected.is_spoiled = false;
}

// Nobody can leave NCCL's set-up while it waits for a rank that never comes: all are here first.
void NcclConnections::Impl::meet(const std::string& key, const TrialOrder& order) {
  client_.set(fmt::format("{}/{}", key, order.rank.value), "here");
  for (int other = 0; other < order.world; ++other) {
    client_.get(fmt::format("{}/{}", key, other), options_.timeout);
  }
}

ncclComm* NcclConnections::Impl::communicator_of(const Partition& partition) {
  Connected& connected = current();
  if (is_whole_world(partition)) return connected.world;
  const auto [known, is_new] = connected.parts.try_emplace(partition, nullptr);
  if (is_new) split(partition, known->second);
  return known->second;
}

// Collective over the world: also of ranks that are in none of the groups.
void NcclConnections::Impl::split(const Partition& partition, ncclComm*& part) {
  Connected& connected = current();
  const int lowest = partition[static_cast<std::size_t>(rank_.value)];
  const int color = lowest < 0 ? NCCL_SPLIT_NOCOLOR : lowest;
  const std::string doing =
      fmt::format("rank {}: splitting NCCL's communicator of the world", rank_.value);
  connected.is_spoiled = true;  // until it is done
  ++num_set_ups_;
  check_nccl(ncclCommSplit(connected.world, color, rank_.value, &part, nullptr), doing);
  LOCKSTEP_CHECK((part == nullptr) == (lowest < 0), "a split gave a rank what it is not in");
  connected.is_spoiled = false;
}

void NcclConnections::Impl::look(NcclPatience::Clock::time_point since,
                                 const std::function<std::string()>& what) {
  if (!patience_.is_due()) return;
  switch (patience_.trouble(current().communicators(), since)) {
    case Trouble::kNone:
      return;
    case Trouble::kTrialOver:
      throw RankCancelled{};
    case Trouble::kFailed:
      throw NcclError(fmt::format("{}: NCCL: {}", what(), patience_.failure()));
    case Trouble::kTimeout:
      throw NcclError(
          fmt::format("{}: NCCL has not moved for {} ms", what(), patience_.timeout().count()));
  }
}

void NcclConnections::Impl::check(NcclPatience::Clock::time_point since,
                                  const std::function<std::string()>& what) {
  AbortUnlessDone guard(*this);
  look(since, what);
  guard.done = true;
}

bool NcclConnections::Impl::settle(const std::function<bool()>& is_done, bool may_wait) {
  const NcclPatience::Clock::time_point start = NcclPatience::Clock::now();
  PollPause pause;
  try {
    while (!is_done()) {
      const bool is_lost =
          !may_wait || (patience_.is_due() &&
                        patience_.trouble(current().communicators(), start) != Trouble::kNone);
      if (is_lost) {
        abort();
        return false;
      }
      pause.rest();
    }
    return true;
  } catch (const std::exception&) {
    abort();  // the coordinator or the GPU is lost, and others have been told
    return false;
  }
}

void NcclConnections::Impl::abort() { drop(current()); }

// NCCL frees what it holds once all ranks of the process have given theirs up, and to free waits
// for the whole GPU: not while others' calls are half enqueued. In one group: each waits half a
// second for a thread of NCCL's, and so they wait at the same time.
void NcclConnections::Impl::drop(Connected& connected) {
  connected.is_spoiled = true;
  const LaunchGate::Pass pass(gpu_.gate());
  ncclGroupStart();
  for (auto& [partition, part] : connected.parts) {
    if (ncclComm* its = std::exchange(part, nullptr); its != nullptr) ncclCommAbort(its);
  }
  if (ncclComm* its = std::exchange(connected.world, nullptr); its != nullptr) ncclCommAbort(its);
  ncclGroupEnd();
}

std::unique_ptr<GpuEvent> NcclConnections::Impl::take_event() {
  if (free_events_.empty()) {
    const LaunchGate::Pass pass(gpu_.gate());
    return std::make_unique<GpuEvent>();
  }
  std::unique_ptr<GpuEvent> event = std::move(free_events_.back());
  free_events_.pop_back();
  return event;
}

NcclConnections::NcclConnections(NcclProcess& process,
                                 CoordinatorClient& client,
                                 Gpu& gpu,
                                 const Options& options)
    : impl_(std::make_unique<Impl>(process, client, gpu, options)) {}

NcclConnections::~NcclConnections() = default;

}  // namespace lockstep::backends
