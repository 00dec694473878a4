// Which of Gloo's operations makes which call; copies where input and output overlap.
#include "backends/gloo/collectives.h"

#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>

#include <cstring>

#include "backends/gloo/reduction.h"
#include "core/base/errors.h"
#include "core/comm/call_rules.h"

namespace lockstep::backends {
namespace {

// The high byte of a message's slot, which no collective of Gloo has.
constexpr std::uint64_t kMessageSlots = 0x40;

std::byte* bytes_of(const Buffer& buffer) { return buffer.count == 0 ? nullptr : buffer.bytes(); }

std::size_t size_of(const Buffer& buffer) { return static_cast<std::size_t>(buffer.num_bytes()); }

void copy_bytes(std::byte* to, const std::byte* from, std::size_t num_bytes) {
  if (num_bytes != 0 && to != from) std::memmove(to, from, num_bytes);
}

bool overlap(const Buffer& a, const Buffer& b) {
  const std::byte* a_first = bytes_of(a);
  const std::byte* b_first = bytes_of(b);
  if (a_first == nullptr || b_first == nullptr) return false;
  return a_first < b_first + b.num_bytes() && b_first < a_first + a.num_bytes();
}

// The input, or a copy of it where the output overlaps it.
std::byte* apart(GlooConnection& connection, const CollectiveCall& call) {
  std::byte* input = bytes_of(call.input);
  if (!overlap(call.input, call.output)) return input;
  connection.scratch.assign(input, input + call.input.num_bytes());
  return connection.scratch.data();
}

// Bytes of each member's part.
template <typename Count>
std::vector<Count> part_sizes(const Buffer& buffer, Splits splits, int size) {
  std::vector<Count> sizes;
  const auto of = static_cast<std::size_t>(size);
  for (std::size_t index = 0; index < of; ++index) {
    const std::int64_t count = part_count(buffer, splits, {.index = index, .of = of});
    sizes.push_back(static_cast<Count>(count * element_bytes(buffer.dtype)));
  }
  return sizes;
}

// In place. `Word` has the size of an element.
template <typename Word>
void all_reduce_words(GlooConnection& connection, std::byte* data, const CollectiveCall& call) {
  ::gloo::AllreduceOptions options(connection.context);
  options.setOutput(reinterpret_cast<Word*>(data), static_cast<std::size_t>(call.input.count));
  options.setReduceFunction(combination_of(call.input.dtype, call.op).combine);
  // Of few steps: three times as fast as the ring between eight processes.
  options.setAlgorithm(::gloo::AllreduceOptions::Algorithm::BCUBE);
  options.setTag(++connection.num_operations);
  ::gloo::allreduce(options);
}

void all_reduce(GlooConnection& connection, const CollectiveCall& call) {
  if (call.input.count == 0) return;
  std::byte* output = bytes_of(call.output);
  copy_bytes(output, bytes_of(call.input), size_of(call.input));
  switch (element_bytes(call.input.dtype)) {
    case sizeof(std::uint64_t):
      return all_reduce_words<std::uint64_t>(connection, output, call);
    case sizeof(std::uint32_t):
      return all_reduce_words<std::uint32_t>(connection, output, call);
    case sizeof(std::uint16_t):
      return all_reduce_words<std::uint16_t>(connection, output, call);
    default:
      throw InternalError("an all_reduce of elements of no known size");
  }
}

struct Exchanged {
  std::byte* input;
  std::vector<std::int64_t> input_sizes;  // bytes for each member
  std::byte* output;
  std::vector<std::int64_t> output_sizes;  // bytes from each member
};

void exchange(GlooConnection& connection, const Exchanged& exchanged) {
  std::byte nothing{};  // memcpy of no bytes still wants an address
  ::gloo::AlltoallvOptions options(connection.context);
  options.setInput(
      reinterpret_cast<std::uint8_t*>(exchanged.input == nullptr ? &nothing : exchanged.input),
      exchanged.input_sizes);
  options.setOutput(
      reinterpret_cast<std::uint8_t*>(exchanged.output == nullptr ? &nothing : exchanged.output),
      exchanged.output_sizes);
  options.setTag(++connection.num_operations);
  ::gloo::alltoallv(options);
}

// Every member's share of this rank's part, then their reduction in rank order.
void reduce_scatter(GlooConnection& connection, const CollectiveCall& call) {
  if (call.input.count == 0) return;
  const int size = connection.context->size;
  const std::size_t num_bytes = size_of(call.output);
  connection.scratch.resize(num_bytes * static_cast<std::size_t>(size));
  std::byte* shares = connection.scratch.data();
  exchange(connection,
           {.input = bytes_of(call.input),
            .input_sizes = part_sizes<std::int64_t>(call.input, call.input_splits, size),
            .output = shares,
            .output_sizes = std::vector<std::int64_t>(static_cast<std::size_t>(size),
                                                      static_cast<std::int64_t>(num_bytes))});
  const Combine combine = combination_of(call.input.dtype, call.op).combine;
  for (std::size_t from = 1; from < static_cast<std::size_t>(size); ++from) {
    combine(shares, shares, shares + from * num_bytes, static_cast<std::size_t>(call.output.count));
  }
  copy_bytes(bytes_of(call.output), shares, num_bytes);
}

void all_gather(GlooConnection& connection, const CollectiveCall& call) {
  if (call.output.count == 0) return;
  const auto me = static_cast<std::size_t>(connection.context->rank);
  const auto size = static_cast<std::size_t>(connection.context->size);
  const std::int64_t mine = part_offset(call.output, call.output_splits, {.index = me, .of = size});
  std::byte* output = bytes_of(call.output);
  copy_bytes(
      output + mine * element_bytes(call.output.dtype), bytes_of(call.input), size_of(call.input));
  ::gloo::AllgathervOptions options(connection.context);
  options.setOutput(
      reinterpret_cast<std::uint8_t*>(output),
      part_sizes<std::size_t>(call.output, call.output_splits, connection.context->size));
  options.setTag(++connection.num_operations);
  ::gloo::allgatherv(options);
}

void all_to_all(GlooConnection& connection, const CollectiveCall& call) {
  const int size = connection.context->size;
  exchange(connection,
           {.input = apart(connection, call),
            .input_sizes = part_sizes<std::int64_t>(call.input, call.input_splits, size),
            .output = bytes_of(call.output),
            .output_sizes = part_sizes<std::int64_t>(call.output, call.output_splits, size)});
}

void broadcast(GlooConnection& connection, const CollectiveCall& call) {
  if (call.output.count == 0) return;
  std::byte* output = bytes_of(call.output);
  if (connection.context->rank == call.peer.value) {
    copy_bytes(output, bytes_of(call.input), size_of(call.input));
  }
  ::gloo::BroadcastOptions options(connection.context);
  options.setOutput(reinterpret_cast<std::uint8_t*>(output), size_of(call.output));
  options.setRoot(call.peer.value);
  options.setTag(++connection.num_operations);
  ::gloo::broadcast(options);
}

void barrier(GlooConnection& connection) {
  ::gloo::BarrierOptions options(connection.context);
  options.setTag(++connection.num_operations);
  ::gloo::barrier(options);
}

}  // namespace

void carry_out_collective(GlooConnection* connection, const CollectiveCall& call) {
  if (connection == nullptr) {
    return copy_bytes(bytes_of(call.output), bytes_of(call.input), size_of(call.input));
  }
  switch (call.kind) {
    case CollectiveKind::kAllReduce:
      return all_reduce(*connection, call);
    case CollectiveKind::kReduceScatter:
      return reduce_scatter(*connection, call);
    case CollectiveKind::kAllGather:
      return all_gather(*connection, call);
    case CollectiveKind::kAllToAll:
      return all_to_all(*connection, call);
    case CollectiveKind::kBroadcast:
      return broadcast(*connection, call);
    case CollectiveKind::kBarrier:
      return barrier(*connection);
    case CollectiveKind::kSend:
    case CollectiveKind::kRecv:
      break;
  }
  throw InternalError("a message is no collective");
}

void carry_out_message(GlooConnection& connection, const CollectiveCall& call) {
  const bool sends = call.kind == CollectiveKind::kSend;
  const Buffer& buffer = sends ? call.input : call.output;
  const std::uint64_t slot =
      (kMessageSlots << 56U) | (static_cast<std::uint64_t>(++connection.num_operations) << 24U);
  const int peer = 1 - connection.context->rank;
  const auto end = connection.context->createUnboundBuffer(bytes_of(buffer), size_of(buffer));
  if (sends) {
    end->send(peer, slot);
    end->waitSend(connection.context->getTimeout());
  } else {
    end->recv(peer, slot);
    end->waitRecv(connection.context->getTimeout());
  }
}

void carry_out_own_message(const CollectiveCall& send, const CollectiveCall& receive) {
  copy_bytes(bytes_of(receive.output), bytes_of(send.input), size_of(send.input));
}

}  // namespace lockstep::backends
