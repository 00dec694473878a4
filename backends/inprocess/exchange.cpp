// Which elements of whose input make which elements of whose output.
#include "backends/inprocess/exchange.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "backends/inprocess/reduce.h"
#include "backends/inprocess/streaming_copy.h"
#include "core/base/random.h"
#include "core/comm/call_rules.h"

namespace lockstep::backends {
namespace {

// The usual in-place call, told apart first because it is cheap to see.
bool same_place(const Buffer& a, const Buffer& b) {
  return a.storage == b.storage && a.offset == b.offset && a.dtype == b.dtype;
}

bool overlap(const Buffer& a, const Buffer& b) {
  if (a.storage == nullptr || a.storage != b.storage || a.count == 0 || b.count == 0) return false;
  const std::int64_t a_first = a.offset * element_bytes(a.dtype);
  const std::int64_t b_first = b.offset * element_bytes(b.dtype);
  return a_first < b_first + b.num_bytes() && b_first < a_first + a.num_bytes();
}

// Whether writing some outputs before all inputs are read can spoil an input.
bool needs_staging(const Meeting& meeting) {
  const std::size_t size = meeting.parties.size();
  for (std::size_t party = 0; party < size; ++party) {
    for (const CollectiveCall& call : meeting.parties[party].calls) {
      if (call.kind == CollectiveKind::kAllReduce && same_place(call.input, call.output)) continue;
      if (!overlap(call.input, call.output)) continue;
      std::int64_t input_part = 0;  // where a part of the one is the whole of the other
      std::int64_t output_part = 0;
      if (call.kind == CollectiveKind::kReduceScatter) {
        input_part = part_offset(call.input, call.input_splits, {.index = party, .of = size});
      } else if (call.kind == CollectiveKind::kAllGather) {
        output_part = part_offset(call.output, call.output_splits, {.index = party, .of = size});
      } else if (call.kind == CollectiveKind::kAllToAll) {
        return true;
      }
      if (call.input.offset + input_part != call.output.offset + output_part) return true;
    }
  }
  return false;
}

void copy_bytes(std::byte* to, const std::byte* from, std::int64_t num_bytes) {
  if (num_bytes == 0 || to == nullptr || from == nullptr || to == from) return;
  std::memmove(to, from, static_cast<std::size_t>(num_bytes));
}

// Writes the output of party `to`; `inputs` are live or kept ones, by party.
void copy_parts(const Meeting& meeting,
                std::size_t call,
                std::size_t to,
                std::span<const std::byte* const> inputs) {
  const std::size_t size = meeting.parties.size();
  const CollectiveCall& own = call_of(meeting, to, call);
  const std::int64_t element = element_bytes(own.output.dtype);
  std::byte* output = own.output.bytes();
  if (own.kind == CollectiveKind::kBroadcast) {
    const auto root = static_cast<std::size_t>(own.peer.value);
    copy_bytes(output, inputs[root], own.output.num_bytes());
    return;
  }
  if (meeting.is_message) {
    if (to == 1) copy_bytes(output, inputs[0], own.output.num_bytes());
    return;
  }
  if (output == nullptr) return;
  for (std::size_t from = 0; from < size; ++from) {
    const CollectiveCall& theirs = call_of(meeting, from, call);
    const std::int64_t count =
        part_count(own.output, own.output_splits, {.index = from, .of = size});
    std::int64_t skipped = 0;
    if (own.kind == CollectiveKind::kAllToAll) {
      skipped = part_offset(theirs.input, theirs.input_splits, {.index = to, .of = size});
    }
    if (inputs[from] != nullptr) {
      copy_bytes(output, inputs[from] + skipped * element, count * element);
    }
    output += count * element;
  }
}

// From `begin` on, what stands at each 64th element: every view of a parameter starts at a multiple
// of 64, and filling all would cost as much as the collective.
constexpr std::int64_t kPoisonStride = 64;

template <typename T>
void fill_sparsely(T* elements, std::int64_t begin, std::int64_t end, T value) {
  for (std::int64_t i = begin; i < end; i += kPoisonStride) elements[i] = value;
}

// The same a line of the cache at a time and past the caches: of a buffer larger than they are each
// line would be fetched first, and be in the way of the result.
template <typename T>
void stream_sparsely(T* elements, std::int64_t begin, std::int64_t end, T value) {
  constexpr std::int64_t kRun = 64 / sizeof(T);
  alignas(64) T run[kRun];
  std::fill_n(run, kRun, value);
  for (std::int64_t i = begin; i < end; i += kPoisonStride) {
    const auto size = static_cast<std::size_t>(std::min(kRun, end - i));
    streaming_copy(reinterpret_cast<std::byte*>(elements + i),
                   reinterpret_cast<const std::byte*>(run),
                   size * sizeof(T));
  }
  streaming_fence();
}

template <typename T>
void fill(const Buffer& buffer, T value) {
  constexpr std::int64_t kFilledWhole = 1024;
  constexpr std::int64_t kLargeBytes = std::int64_t{1} << 20;
  T* elements = reinterpret_cast<T*>(buffer.bytes());
  if (elements == nullptr || buffer.count == 0) return;
  const std::int64_t whole = std::min(buffer.count, kFilledWhole);
  std::fill_n(elements, whole, value);
  if (buffer.num_bytes() < kLargeBytes) {
    fill_sparsely(elements, whole, buffer.count, value);
  } else {
    stream_sparsely(elements, whole, buffer.count, value);
  }
  elements[buffer.count - 1] = value;
}

void poison(const Buffer& buffer) {
  constexpr std::uint16_t kBF16NaN = 0x7fc0;
  switch (buffer.dtype) {
    case DType::kF64:
      return fill(buffer, std::numeric_limits<double>::quiet_NaN());
    case DType::kF32:
      return fill(buffer, std::numeric_limits<float>::quiet_NaN());
    case DType::kBF16:
      return fill(buffer, kBF16NaN);
    case DType::kI64:
      return fill(buffer, std::numeric_limits<std::int64_t>::min() / 2);
  }
}

bool moves_data(CollectiveKind kind) { return kind != CollectiveKind::kBarrier; }

}  // namespace

void Exchange::poison_outputs(const std::vector<CollectiveCall>& calls) {
  for (const CollectiveCall& call : calls) {
    if (call.output.count == 0 || same_place(call.input, call.output)) continue;
    if (!overlap(call.input, call.output)) poison(call.output);
  }
}

void Exchange::run(Meeting& meeting, std::uint64_t stream) {
  if (needs_staging(meeting)) {
    stage(meeting, stream);
    for (std::size_t party = 0; party < meeting.parties.size(); ++party) deliver(meeting, party);
    return;
  }
  const std::size_t size = meeting.parties.size();
  if (order_ == ReductionOrder::kShuffled) shuffle(size, stream, meeting.number);
  for (std::size_t call = 0; call < meeting.parties.front().calls.size(); ++call) {
    const CollectiveKind kind = call_of(meeting, 0, call).kind;
    if (!moves_data(kind)) continue;
    if (reduces(kind)) {
      reduce_call(meeting, call, nullptr);
      continue;
    }
    inputs_.clear();
    for (std::size_t party = 0; party < size; ++party) {
      inputs_.push_back(call_of(meeting, party, call).input.bytes());
    }
    for (std::size_t party = 0; party < size; ++party) copy_parts(meeting, call, party, inputs_);
  }
}

void Exchange::stage(Meeting& meeting, std::uint64_t stream) {
  const std::size_t size = meeting.parties.size();
  const std::size_t num_calls = meeting.parties.front().calls.size();
  meeting.staging_offsets.clear();
  std::int64_t num_bytes = 0;
  for (std::size_t call = 0; call < num_calls; ++call) {
    const CollectiveCall& first = call_of(meeting, 0, call);
    for (std::size_t party = 0; party < size; ++party) {
      meeting.staging_offsets.push_back(num_bytes);
      if (reduces(first.kind) && party > 0) continue;
      const std::int64_t kept = call_of(meeting, party, call).input.num_bytes();
      num_bytes += (kept + 63) / 64 * 64;
    }
  }
  meeting.staging.resize(static_cast<std::size_t>(num_bytes));
  if (order_ == ReductionOrder::kShuffled) shuffle(size, stream, meeting.number);
  for (std::size_t call = 0; call < num_calls; ++call) {
    const bool reduced = reduces(call_of(meeting, 0, call).kind);
    for (std::size_t party = 0; party < size; ++party) {
      std::byte* kept = meeting.staging.data() + meeting.staging_offsets[call * size + party];
      const Buffer& input = call_of(meeting, party, call).input;
      if (!reduced) {
        copy_bytes(kept, input.bytes(), input.num_bytes());
      } else if (party == 0) {
        reduce_call(meeting, call, kept);
      }
    }
  }
  meeting.staged = true;
}

void Exchange::deliver(const Meeting& meeting, std::size_t party) const {
  const std::size_t size = meeting.parties.size();
  std::vector<const std::byte*> kept(size);
  for (std::size_t call = 0; call < meeting.parties.front().calls.size(); ++call) {
    const CollectiveCall& own = call_of(meeting, party, call);
    if (!moves_data(own.kind)) continue;
    for (std::size_t i = 0; i < size; ++i) {
      kept[i] = meeting.staging.data() + meeting.staging_offsets[call * size + i];
    }
    if (!reduces(own.kind)) {
      copy_parts(meeting, call, party, kept);
      continue;
    }
    std::int64_t skipped = 0;
    if (own.kind == CollectiveKind::kReduceScatter) {
      skipped = part_offset(own.input, own.input_splits, {.index = party, .of = size});
    }
    const std::byte* result = kept[0] + skipped * element_bytes(own.output.dtype);
    copy_bytes(own.output.bytes(), result, own.output.num_bytes());
  }
}

// To the outputs, or the whole result to `staging`.
void Exchange::reduce_call(const Meeting& meeting, std::size_t call, std::byte* staging) {
  const std::size_t size = meeting.parties.size();
  const CollectiveCall& first = call_of(meeting, 0, call);
  const std::int64_t count = first.input.count;
  const std::int64_t element = element_bytes(first.input.dtype);
  inputs_.clear();
  targets_.clear();
  for (std::size_t party = 0; party < size; ++party) {
    const CollectiveCall& own = call_of(meeting, party, call);
    inputs_.push_back(own.input.bytes());
    targets_.push_back(own.output.bytes());
    if (inputs_.back() == nullptr) return;
  }
  const bool scatters = first.kind == CollectiveKind::kReduceScatter;
  const bool in_parts = scatters || order_ == ReductionOrder::kRing;
  const std::size_t num_parts = in_parts ? size : 1;
  std::int64_t begin = 0;
  for (std::size_t part = 0; part < num_parts; ++part) {
    std::int64_t end =
        count * static_cast<std::int64_t>(part + 1) / static_cast<std::int64_t>(num_parts);
    if (scatters)
      end = begin + part_count(first.input, first.input_splits, {.index = part, .of = size});
    outputs_.clear();
    if (staging != nullptr) {
      outputs_.push_back(staging + begin * element);
    } else if (scatters) {
      if (targets_[part] != nullptr) outputs_.push_back(targets_[part]);
    } else {
      for (std::byte* target : targets_) outputs_.push_back(target + begin * element);
    }
    order_inputs(order_ == ReductionOrder::kRing ? part + 1 : 0);
    reduce_range(first, begin, end - begin);
    begin = end;
  }
}

void Exchange::reduce_range(const CollectiveCall& call, std::int64_t first, std::int64_t count) {
  // Outputs that are inputs too are in the caches already.
  constexpr std::int64_t kCacheBytes = std::int64_t{8} << 20;
  const std::int64_t written = count * element_bytes(call.input.dtype) * std::ssize(outputs_);
  const Reduction reduction{.dtype = call.input.dtype,
                            .op = call.op,
                            .tree = order_ == ReductionOrder::kTree,
                            .stream = written >= kCacheBytes && !overlap(call.input, call.output)};
  reduce(reduction, ordered_, first, count, outputs_);
}

// A ring's part starts at the rank after its owner and goes around to the owner.
void Exchange::order_inputs(std::size_t first) {
  const std::size_t size = inputs_.size();
  ordered_.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t turn = first + i < size ? first + i : first + i - size;
    ordered_[i] = inputs_[order_ == ReductionOrder::kShuffled ? permutation_[i] : turn];
  }
}

void Exchange::shuffle(std::size_t size, std::uint64_t stream, std::uint64_t number) {
  permutation_.resize(size);
  std::iota(permutation_.begin(), permutation_.end(), std::size_t{0});
  for (std::size_t left = size; left > 1; --left) {
    const std::uint64_t draw = random_bits(seed_, stream + number, left);
    std::swap(permutation_[left - 1], permutation_[static_cast<std::size_t>(draw % left)]);
  }
}

}  // namespace lockstep::backends
