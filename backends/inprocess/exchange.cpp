// Plans the moves of a meeting and has them made, call by call: a later one may read what an
// earlier one wrote.
#include "backends/inprocess/exchange.h"

#include <algorithm>
#include <cstring>
#include <numeric>

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
  if (meeting.is_message) {  // to oneself, where they share memory
    return overlap(call_of(meeting, 0, 0).input, call_of(meeting, 1, 0).output);
  }
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

bool moves_data(CollectiveKind kind) { return kind != CollectiveKind::kBarrier; }

// The staged result of a call, or of each party the copy of its input.
std::byte* staged_bytes(const Meeting& meeting, std::size_t call, std::size_t party) {
  return meeting.staging->data() + meeting.staging_offsets[call * meeting.parties.size() + party];
}

// Lays the staging memory out, and takes more of it where it is too small.
void make_room(Meeting& meeting, Device& device) {
  meeting.staging_offsets.clear();
  std::int64_t num_bytes = 0;
  for (std::size_t call = 0; call < meeting.parties.front().calls.size(); ++call) {
    const bool reduced = reduces(call_of(meeting, 0, call).kind);
    for (std::size_t party = 0; party < meeting.parties.size(); ++party) {
      meeting.staging_offsets.push_back(num_bytes);
      if (reduced && party > 0) continue;
      const std::int64_t kept = call_of(meeting, party, call).input.num_bytes();
      num_bytes += (kept + 63) / 64 * 64;
    }
  }
  if (meeting.staging != nullptr && meeting.staging->num_bytes() >= num_bytes) return;
  meeting.staging = nullptr;
  meeting.staging = std::make_unique<Storage>(device, num_bytes, "inprocess.staging");
}

}  // namespace

void Exchange::meet_streams(Rank rank, std::span<const CollectiveCall> calls) {
  for (const CollectiveCall& call : calls) streams_->meet({.rank = rank, .stream = call.stream});
}

void Exchange::poison_outputs(const Party& party) {
  for (const CollectiveCall& call : party.calls) {
    if (call.output.count == 0 || same_place(call.input, call.output)) continue;
    if (overlap(call.input, call.output)) continue;
    mover_.poison({.rank = party.rank, .stream = call.stream}, call.output);
  }
}

void Exchange::run(Meeting& meeting, std::uint64_t order_stream) {
  begin(meeting.parties, nullptr);
  if (needs_staging(meeting)) {
    fill_staging(meeting, order_stream);
    for (std::size_t i = 0; i < meeting.parties.size(); ++i) read_staging(meeting, i);
  } else {
    exchange(meeting, order_stream);
  }
  end();
}

void Exchange::stage(Meeting& meeting, std::uint64_t order_stream) {
  begin(meeting.parties, nullptr);
  fill_staging(meeting, order_stream);
  end();
}

void Exchange::deliver(const Meeting& meeting, std::size_t party, Stream waiting) {
  const Party& own = meeting.parties[party];
  const RankStream waits{.rank = own.rank, .stream = waiting};
  if (streams_ != nullptr) streams_->meet(waits);
  begin({&own, 1}, &waits);
  read_staging(meeting, party);
  end();
}

void Exchange::follow_streams(const Party& party, Stream waiting) {
  const RankStream later{.rank = party.rank, .stream = waiting};
  streams_->meet(later);
  for (const CollectiveCall& call : party.calls) streams_->follow(later, call.stream);
}

// A moment for these parties. Their buffers are used on the streams that their calls name, and once
// one waits on that which does. On no other may a right program touch them; what a wrong one does
// there has no order.
void Exchange::begin(std::span<const Party> parties, const RankStream* waiting) {
  if (streams_ == nullptr) return;
  concerned_.clear();
  copies_.clear();  // of a moment that an error cut short: their memory may be gone
  if (waiting != nullptr) concerned_.push_back(*waiting);
  for (const Party& party : parties) {
    for (const CollectiveCall& call : party.calls) {
      const RankStream stream{.rank = party.rank, .stream = call.stream};
      const bool is_another = concerned_.empty() || concerned_.back() != stream;
      if (is_another) concerned_.push_back(stream);  // most calls of a submit are on one stream
    }
  }
  streams_->begin(concerned_);
}

void Exchange::end() {
  if (streams_ != nullptr) streams_->end();
}

void Exchange::exchange(const Meeting& meeting, std::uint64_t order_stream) {
  const std::size_t size = meeting.parties.size();
  if (order_ == ReductionOrder::kShuffled) shuffle(size, order_stream, meeting.number);
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
    for (std::size_t party = 0; party < size; ++party) copy_parts(meeting, call, party);
    make_copies();
  }
}

void Exchange::fill_staging(Meeting& meeting, std::uint64_t order_stream) {
  const std::size_t size = meeting.parties.size();
  const std::size_t num_calls = meeting.parties.front().calls.size();
  make_room(meeting, mover_.device());
  if (order_ == ReductionOrder::kShuffled) shuffle(size, order_stream, meeting.number);
  for (std::size_t call = 0; call < num_calls; ++call) {
    const bool reduced = reduces(call_of(meeting, 0, call).kind);
    for (std::size_t party = 0; party < size; ++party) {
      std::byte* kept = staged_bytes(meeting, call, party);
      const Buffer& input = call_of(meeting, party, call).input;
      if (!reduced) {
        add_copy(kept, input.bytes(), input.num_bytes());
      } else if (party == 0) {
        reduce_call(meeting, call, kept);
      }
    }
    make_copies();
  }
  meeting.staged = true;
}

void Exchange::read_staging(const Meeting& meeting, std::size_t party) {
  const std::size_t size = meeting.parties.size();
  for (std::size_t call = 0; call < meeting.parties.front().calls.size(); ++call) {
    const CollectiveCall& own = call_of(meeting, party, call);
    if (!moves_data(own.kind)) continue;
    inputs_.clear();
    for (std::size_t i = 0; i < size; ++i) inputs_.push_back(staged_bytes(meeting, call, i));
    if (!reduces(own.kind)) {
      copy_parts(meeting, call, party);
    } else {
      std::int64_t skipped = 0;
      if (own.kind == CollectiveKind::kReduceScatter) {
        skipped = part_offset(own.input, own.input_splits, {.index = party, .of = size});
      }
      const std::byte* result = inputs_[0] + skipped * element_bytes(own.output.dtype);
      add_copy(own.output.bytes(), result, own.output.num_bytes());
    }
    make_copies();
  }
}

// To the output of party `to`, from `inputs_`: live or kept ones, by party.
void Exchange::copy_parts(const Meeting& meeting, std::size_t call, std::size_t to) {
  const std::size_t size = meeting.parties.size();
  const CollectiveCall& own = call_of(meeting, to, call);
  const std::int64_t element = element_bytes(own.output.dtype);
  std::byte* output = own.output.bytes();
  if (own.kind == CollectiveKind::kBroadcast) {
    const auto root = static_cast<std::size_t>(own.peer.value);
    add_copy(output, inputs_[root], own.output.num_bytes());
    return;
  }
  if (meeting.is_message) {
    if (to == 1) add_copy(output, inputs_[0], own.output.num_bytes());
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
    if (inputs_[from] != nullptr) {
      add_copy(output, inputs_[from] + skipped * element, count * element);
    }
    output += count * element;
  }
}

void Exchange::add_copy(std::byte* to, const std::byte* from, std::int64_t num_bytes) {
  constexpr std::size_t kMaxCopies = 1024;  // a list that stays in cache
  if (num_bytes == 0 || to == nullptr || from == nullptr || to == from) return;
  if (streams_ == nullptr) {
    std::memmove(to, from, static_cast<std::size_t>(num_bytes));
    return;
  }
  if (copies_.size() == kMaxCopies) make_copies();
  copies_.push_back({.to = to, .from = from, .num_bytes = num_bytes});
}

void Exchange::make_copies() {
  if (copies_.empty()) return;
  streams_->copy(copies_);
  copies_.clear();
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
  mover_.reduce(reduction, ordered_, first, count, outputs_);
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

void Exchange::shuffle(std::size_t size, std::uint64_t order_stream, std::uint64_t number) {
  permutation_.resize(size);
  std::iota(permutation_.begin(), permutation_.end(), std::size_t{0});
  for (std::size_t left = size; left > 1; --left) {
    const std::uint64_t draw = random_bits(seed_, order_stream + number, left);
    std::swap(permutation_[left - 1], permutation_[static_cast<std::size_t>(draw % left)]);
  }
}

}  // namespace lockstep::backends
