// Which of NCCL's operations make which call, and what is copied where buffers overlap.
#include "backends/nccl/plan.h"

#include <algorithm>

#include "core/base/errors.h"
#include "core/comm/call_rules.h"

namespace lockstep::backends {
namespace {

std::byte* bytes_of(const Buffer& buffer) { return buffer.count == 0 ? nullptr : buffer.bytes(); }

bool overlap(const Buffer& a, const Buffer& b) {
  const std::byte* a_first = bytes_of(a);
  const std::byte* b_first = bytes_of(b);
  if (a_first == nullptr || b_first == nullptr) return false;
  return a_first < b_first + b.num_bytes() && b_first < a_first + a.num_bytes();
}

bool are_equal(Splits splits) {
  return std::all_of(splits.begin(), splits.end(), [&](auto part) { return part == splits[0]; });
}

// One call on its way into the plan.
struct Planner {
  const CollectiveCall& call;
  const GroupSeat& seat;
  const TakeScratch& scratch;
  NcclPlan& plan;

  std::int64_t element() const { return element_bytes(call.output.dtype); }
  Part part(int index) const {
    return {.index = static_cast<std::size_t>(index), .of = static_cast<std::size_t>(seat.size)};
  }
  std::int64_t input_count(int index) const {
    return part_count(call.input, call.input_splits, part(index));
  }
  std::int64_t output_count(int index) const {
    return part_count(call.output, call.output_splits, part(index));
  }
  // Where a part of a buffer begins, in bytes.
  std::int64_t input_place(int index) const {
    return part_offset(call.input, call.input_splits, part(index)) * element();
  }
  std::int64_t output_place(int index) const {
    return part_offset(call.output, call.output_splits, part(index)) * element();
  }

  void copy(std::byte* to, const std::byte* from, std::int64_t num_bytes) const {
    if (num_bytes == 0 || to == from) return;
    plan.copies.push_back({.to = to, .from = from, .num_bytes = num_bytes});
  }
  // The input, or a copy of it.
  const std::byte* input_or_copy(bool may_stay) const {
    const std::byte* input = bytes_of(call.input);
    if (may_stay || input == nullptr) return input;
    std::byte* apart = scratch(call.input.num_bytes());
    copy(apart, input, call.input.num_bytes());
    return apart;
  }
  void operate(NcclOperation operation) const {
    if (operation.count == 0) return;
    operation.dtype = call.output.dtype;
    operation.op = call.op;
    plan.operations.push_back(operation);
  }
  void message(NcclOperationKind kind,
               int peer,
               const std::byte* from,
               std::byte* to,
               std::int64_t count) const {
    operate({.kind = kind, .from = from, .to = to, .count = count, .peer = peer});
  }
  // The maximum of as many elements of each member's, which lie one behind the other.
  void reduce(const std::byte* gathered, std::int64_t count) const {
    PlannedReduction reduction{.how = {.dtype = call.output.dtype, .op = call.op},
                               .inputs = {},
                               .count = count,
                               .output = bytes_of(call.output)};
    for (int member = 0; member < seat.size; ++member) {
      reduction.inputs.push_back(gathered + member * count * element());
    }
    plan.reductions.push_back(std::move(reduction));
  }

  void all_reduce() const;
  void reduce_scatter() const;
  void reduce_scatter_by_parts(const std::byte* input) const;
  void reduce_scatter_of_sent_parts() const;
  void all_gather() const;
  void all_to_all() const;
  void broadcast() const;
  void barrier() const;
};

void Planner::all_reduce() const {
  const std::int64_t count = call.output.count;
  if (count == 0) return;
  std::byte* output = bytes_of(call.output);
  if (nccl_reduces(call.output.dtype, call.op)) {
    const bool may_stay = bytes_of(call.input) == output || !overlap(call.input, call.output);
    return operate({.kind = NcclOperationKind::kAllReduce,
                    .from = input_or_copy(may_stay),
                    .to = output,
                    .count = count});
  }
  std::byte* gathered = scratch(seat.size * call.output.num_bytes());
  operate({.kind = NcclOperationKind::kAllGather,
           .from = bytes_of(call.input),
           .to = gathered,
           .count = count});
  reduce(gathered, count);
}

void Planner::reduce_scatter() const {
  if (call.input.count == 0) return;
  if (!nccl_reduces(call.output.dtype, call.op)) return reduce_scatter_of_sent_parts();
  std::byte* output = bytes_of(call.output);
  const bool in_place = output == bytes_of(call.input) + input_place(seat.me);
  const std::byte* input = input_or_copy(in_place || !overlap(call.input, call.output));
  if (!are_equal(call.input_splits)) return reduce_scatter_by_parts(input);
  operate({.kind = NcclOperationKind::kReduceScatter,
           .from = input,
           .to = output,
           .count = call.output.count});
}

void Planner::reduce_scatter_by_parts(const std::byte* input) const {
  for (int member = 0; member < seat.size; ++member) {
    operate({.kind = NcclOperationKind::kReduce,
             .from = input + input_place(member),
             .to = member == seat.me ? bytes_of(call.output) : nullptr,
             .count = input_count(member),
             .peer = member});
  }
}

// Everybody's share of this member's part, then their maximum.
void Planner::reduce_scatter_of_sent_parts() const {
  const std::byte* input = bytes_of(call.input);
  const std::int64_t count = call.output.count;
  std::byte* shares = count == 0 ? nullptr : scratch(seat.size * call.output.num_bytes());
  for (int member = 0; member < seat.size; ++member) {
    const std::byte* sent = input + input_place(member);
    std::byte* share = count == 0 ? nullptr : shares + member * call.output.num_bytes();
    if (member == seat.me) {
      copy(share, sent, call.output.num_bytes());
      continue;
    }
    message(NcclOperationKind::kSend, member, sent, nullptr, input_count(member));
    message(NcclOperationKind::kReceive, member, nullptr, share, count);
  }
  if (count != 0) reduce(shares, count);
}

void Planner::all_gather() const {
  if (call.output.count == 0) return;
  std::byte* output = bytes_of(call.output);
  const bool in_place =
      call.input.count == 0 || bytes_of(call.input) == output + output_place(seat.me);
  const std::byte* input = input_or_copy(in_place || !overlap(call.input, call.output));
  if (are_equal(call.output_splits)) {
    return operate({.kind = NcclOperationKind::kAllGather,
                    .from = input,
                    .to = output,
                    .count = call.input.count});
  }
  for (int member = 0; member < seat.size; ++member) {
    std::byte* place = output + output_place(member);
    operate({.kind = NcclOperationKind::kBroadcast,
             .from = member == seat.me ? input : place,
             .to = place,
             .count = output_count(member),
             .peer = member});
  }
}

void Planner::all_to_all() const {
  const std::byte* input = input_or_copy(!overlap(call.input, call.output));
  std::byte* output = bytes_of(call.output);
  for (int member = 0; member < seat.size; ++member) {
    const std::int64_t num_sent = input_count(member);
    const std::int64_t num_received = output_count(member);
    const std::byte* sent = num_sent == 0 ? nullptr : input + input_place(member);
    std::byte* received = num_received == 0 ? nullptr : output + output_place(member);
    if (member == seat.me) {
      copy(received, sent, num_sent * element());
      continue;
    }
    message(NcclOperationKind::kSend, member, sent, nullptr, num_sent);
    message(NcclOperationKind::kReceive, member, nullptr, received, num_received);
  }
}

void Planner::broadcast() const {
  std::byte* output = bytes_of(call.output);
  if (output == nullptr) return;
  const bool is_root = seat.me == call.peer.value;
  const bool may_stay = bytes_of(call.input) == output || !overlap(call.input, call.output);
  operate({.kind = NcclOperationKind::kBroadcast,
           .from = is_root ? input_or_copy(may_stay) : output,
           .to = output,
           .count = call.output.count,
           .peer = call.peer.value});
}

void Planner::barrier() const {
  std::byte* one = scratch(static_cast<std::int64_t>(sizeof(std::int64_t)));
  plan.operations.push_back({.kind = NcclOperationKind::kAllReduce,
                             .from = one,
                             .to = one,
                             .count = 1,
                             .dtype = DType::kI64,
                             .op = ReduceOp::kMax});
}

// Where buffers overlap the bytes go by way of scratch.
void plan_copy(const Buffer& from, const Buffer& to, const TakeScratch& scratch, NcclPlan& plan) {
  const std::byte* source = bytes_of(from);
  if (source == nullptr || source == bytes_of(to)) return;
  if (overlap(from, to)) {
    std::byte* apart = scratch(from.num_bytes());
    plan.copies.push_back({.to = apart, .from = source, .num_bytes = from.num_bytes()});
    source = apart;
  }
  plan.copies.push_back({.to = bytes_of(to), .from = source, .num_bytes = from.num_bytes()});
}

}  // namespace

bool nccl_reduces(DType dtype, ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return true;
    case ReduceOp::kMax:
      return dtype == DType::kI64;
  }
  throw InternalError("unknown reduction");
}

void plan_call(const CollectiveCall& call,
               const GroupSeat& seat,
               const TakeScratch& scratch,
               NcclPlan& plan) {
  if (seat.size == 1) return plan_copy(call.input, call.output, scratch, plan);
  const Planner planner{.call = call, .seat = seat, .scratch = scratch, .plan = plan};
  switch (call.kind) {
    case CollectiveKind::kAllReduce:
      return planner.all_reduce();
    case CollectiveKind::kReduceScatter:
      return planner.reduce_scatter();
    case CollectiveKind::kAllGather:
      return planner.all_gather();
    case CollectiveKind::kAllToAll:
      return planner.all_to_all();
    case CollectiveKind::kBroadcast:
      return planner.broadcast();
    case CollectiveKind::kBarrier:
      return planner.barrier();
    case CollectiveKind::kSend:
      if (call.input.count == 0) return;
      plan.operations.push_back({.kind = NcclOperationKind::kSend,
                                 .from = bytes_of(call.input),
                                 .count = call.input.count,
                                 .dtype = call.input.dtype,
                                 .peer = call.peer.value});
      return;
    case CollectiveKind::kRecv:
      return planner.message(NcclOperationKind::kReceive,
                             call.peer.value,
                             nullptr,
                             bytes_of(call.output),
                             call.output.count);
  }
  throw InternalError("unknown kind of collective");
}

void plan_own_message(const CollectiveCall& send,
                      const CollectiveCall& receive,
                      const TakeScratch& scratch,
                      NcclPlan& plan) {
  plan_copy(send.input, receive.output, scratch, plan);
}

}  // namespace lockstep::backends
