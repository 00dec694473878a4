// Members meet, read each other's memory, meet, write their own, and meet again.
#include "tests/support/loop_nccl.h"

#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "core/base/errors.h"
#include "core/comm/element_ops.h"

namespace lockstep::test {
namespace {

using backends::NcclOperation;
using backends::NcclOperationKind;
using Operations = std::vector<NcclOperation>;

bool is_message(const NcclOperation& its) {
  return its.kind == NcclOperationKind::kSend || its.kind == NcclOperationKind::kReceive;
}

std::int64_t bytes_of(const NcclOperation& its) { return its.count * element_bytes(its.dtype); }

// The n-th of an operation's kind of matter in another member's list.
template <typename IsOne>
const NcclOperation& nth(const Operations& operations, int n, const IsOne& is_one) {
  for (const NcclOperation& its : operations) {
    if (is_one(its) && n-- == 0) return its;
  }
  throw InternalError("a member has no operation that meets another's");
}

// What a member will write, and where.
struct Written {
  std::byte* to;
  std::vector<std::byte> bytes;
};

// Sizes of what an operation reads and writes on this member, in bytes.
struct Extent {
  std::int64_t from;
  std::int64_t to;
  std::int64_t in_place;  // of `to` within `from`, or of `from` within `to` where that is larger
};

Extent extent_of(const NcclOperation& its, int me, int size) {
  const std::int64_t one = bytes_of(its);
  switch (its.kind) {
    case NcclOperationKind::kReduceScatter:
      return {.from = size * one, .to = one, .in_place = me * one};
    case NcclOperationKind::kAllGather:
      return {.from = one, .to = size * one, .in_place = me * one};
    case NcclOperationKind::kReduce:
      return {.from = one, .to = me == its.peer ? one : 0, .in_place = 0};
    case NcclOperationKind::kBroadcast:
      return {.from = me == its.peer ? one : 0, .to = one, .in_place = 0};
    case NcclOperationKind::kSend:
      return {.from = one, .to = 0, .in_place = 0};
    case NcclOperationKind::kReceive:
      return {.from = 0, .to = one, .in_place = 0};
    case NcclOperationKind::kAllReduce:
      return {.from = one, .to = one, .in_place = 0};
  }
  throw InternalError("unknown operation");
}

void check_buffers(const NcclOperation& its, int me, int size) {
  LOCKSTEP_CHECK(its.count > 0, "an operation of no elements");
  const Extent extent = extent_of(its, me, size);
  LOCKSTEP_CHECK(extent.from == 0 || its.from != nullptr, "an operation reads nothing");
  LOCKSTEP_CHECK(extent.to == 0 || its.to != nullptr, "an operation writes nothing");
  if (extent.from == 0 || extent.to == 0) return;
  const bool are_apart = its.from + extent.from <= its.to || its.to + extent.to <= its.from;
  const bool is_in_place = extent.from >= extent.to ? its.to == its.from + extent.in_place
                                                    : its.from == its.to + extent.in_place;
  LOCKSTEP_CHECK(are_apart || is_in_place, "buffers overlap and do not lie in place");
}

class Member {
 public:
  Member(const std::vector<const Operations*>& all, int me) : all_(all), me_(me) {}

  std::vector<Written> results() {
    std::vector<Written> written;
    int num_collectives = 0;
    std::map<int, int> num_received;
    for (const NcclOperation& its : of(me_)) {
      check_buffers(its, me_, size());
      if (its.kind == NcclOperationKind::kSend) continue;
      if (its.kind == NcclOperationKind::kReceive) {
        written.push_back(received(its, num_received[its.peer]++));
        continue;
      }
      Written result = collective(its, num_collectives++);
      if (!result.bytes.empty()) written.push_back(std::move(result));
    }
    return written;
  }

 private:
  int size() const { return static_cast<int>(all_.size()); }
  const Operations& of(int member) const { return *all_[static_cast<std::size_t>(member)]; }

  Written received(const NcclOperation& its, int n) const {
    const NcclOperation& send = nth(of(its.peer), n, [&](const NcclOperation& other) {
      return other.kind == NcclOperationKind::kSend && other.peer == me_;
    });
    LOCKSTEP_CHECK(send.count == its.count && send.dtype == its.dtype,
                   "a send and its receive differ");
    return {.to = its.to, .bytes = {send.from, send.from + bytes_of(send)}};
  }

  Written collective(const NcclOperation& its, int n) const {
    std::vector<const std::byte*> inputs;
    for (int member = 0; member < size(); ++member) {
      const NcclOperation& other =
          nth(of(member), n, [](const NcclOperation& one) { return !is_message(one); });
      LOCKSTEP_CHECK(other.kind == its.kind && other.count == its.count &&
                         other.dtype == its.dtype && other.op == its.op && other.peer == its.peer,
                     "members' collectives differ");
      inputs.push_back(other.from);
    }
    Written result{.to = its.to, .bytes = {}};
    const std::int64_t written = extent_of(its, me_, size()).to;
    if (written == 0) return result;
    result.bytes.resize(static_cast<std::size_t>(written));
    fill(its, inputs, result.bytes.data());
    return result;
  }

  void fill(const NcclOperation& its,
            std::vector<const std::byte*> inputs,
            std::byte* output) const {
    const std::int64_t one = bytes_of(its);
    if (its.kind == NcclOperationKind::kAllGather) {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        std::memcpy(
            output + static_cast<std::int64_t>(i) * one, inputs[i], static_cast<std::size_t>(one));
      }
      return;
    }
    if (its.kind == NcclOperationKind::kBroadcast) {
      std::memcpy(
          output, inputs[static_cast<std::size_t>(its.peer)], static_cast<std::size_t>(one));
      return;
    }
    LOCKSTEP_CHECK(backends::nccl_reduces(its.dtype, its.op), "NCCL's maximum forgets NaN");
    if (its.kind == NcclOperationKind::kReduceScatter) {
      for (const std::byte*& input : inputs) input += me_ * one;
    }
    reduce_by_loops(its.dtype, its.op, inputs, its.count, output);
  }

  const std::vector<const Operations*>& all_;
  int me_;
};

template <typename T, typename Op>
void reduce_elements(const std::vector<const std::byte*>& inputs,
                     std::int64_t count,
                     std::byte* output) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i) * sizeof(T);
    T sum;
    std::memcpy(&sum, inputs.front() + at, sizeof(T));
    for (std::size_t member = 1; member < inputs.size(); ++member) {
      T next;
      std::memcpy(&next, inputs[member] + at, sizeof(T));
      sum = Op::of(sum, next);
    }
    std::memcpy(output + at, &sum, sizeof(T));
  }
}

template <typename Op>
void reduce_as(DType dtype,
               const std::vector<const std::byte*>& inputs,
               std::int64_t count,
               std::byte* output) {
  switch (dtype) {
    case DType::kF64:
      return reduce_elements<double, Op>(inputs, count, output);
    case DType::kF32:
      return reduce_elements<float, Op>(inputs, count, output);
    case DType::kBF16:
      return reduce_elements<BF16, Op>(inputs, count, output);
    case DType::kI64:
      return reduce_elements<std::int64_t, Op>(inputs, count, output);
  }
}

}  // namespace

void reduce_by_loops(DType dtype,
                     ReduceOp op,
                     const std::vector<const std::byte*>& inputs,
                     std::int64_t count,
                     std::byte* output) {
  if (op == ReduceOp::kSum) return reduce_as<Sum>(dtype, inputs, count, output);
  reduce_as<Max>(dtype, inputs, count, output);
}

LoopNccl::Place& LoopNccl::place_of(const LoopMeeting& meeting) {
  const std::lock_guard guard(mutex_);
  std::unique_ptr<Place>& place = places_[meeting];
  if (place == nullptr) {
    place = std::make_unique<Place>();
    place->operations.resize(meeting.ranks.size());
  }
  return *place;
}

void LoopNccl::meet(Place& place, const std::function<void()>& look) {
  std::unique_lock lock(place.mutex);
  const std::uint64_t round = place.num_rounds;
  if (++place.num_arrived == static_cast<int>(place.operations.size())) {
    place.num_arrived = 0;
    ++place.num_rounds;
    place.changed.notify_all();
    return;
  }
  while (place.num_rounds == round) {
    place.changed.wait_for(lock, std::chrono::milliseconds(1));
    look();
  }
}

void LoopNccl::run(const LoopMeeting& meeting,
                   int me,
                   const Operations& operations,
                   const std::function<void()>& look) {
  Place& place = place_of(meeting);
  {
    const std::lock_guard guard(place.mutex);
    place.operations[static_cast<std::size_t>(me)] = &operations;
  }
  meet(place, look);
  const std::vector<Written> written = Member(place.operations, me).results();
  meet(place, look);
  for (const Written& its : written) std::memcpy(its.to, its.bytes.data(), its.bytes.size());
  meet(place, look);
}

}  // namespace lockstep::test
