// Places buffers in storages, and compares whole storages with what they must hold.
#include "tests/backends/conformance/prepared_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/comm/call_rules.h"
#include "tests/support/device_memory.h"

namespace lockstep::test {
namespace {

// Odd, so that views of narrow types are aligned to their elements alone.
constexpr std::int64_t kMargin = 5;

bool has_splits(Sizes sizes) {
  return sizes == Sizes::kEqualGiven || sizes == Sizes::kUneven || sizes == Sizes::kSomeZero ||
         sizes == Sizes::kLarge;
}

}  // namespace

PreparedCall::PreparedCall(const TestRank& rank, const CallCase& call, const Seat& seat)
    : device_(&rank.device),
      case_(call),
      peer_(is_message(call.type.kind) ? seat.peer : root_of(call, seat)),
      own_part_(own_part_offset(call, seat)),
      input_(input_of(call, seat)),
      output_(output_of(call, seat)),
      where_(fmt::format("rank {} on {}", rank.rank.value, to_text(seat.group))) {
  const CollectiveKind kind = call.type.kind;
  if (has_splits(call.sizes)) {
    if (kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kAllToAll) {
      input_splits_ = sent_parts(call, seat);
    }
    const bool of_input_alone =
        kind == CollectiveKind::kAllToAll && call.sizes == Sizes::kEqualGiven;
    if (kind == CollectiveKind::kAllGather ||
        (kind == CollectiveKind::kAllToAll && !of_input_alone)) {
      output_splits_ = received_parts(call, seat);
    }
  }
  place(rank);
}

void PreparedCall::place(const TestRank& rank) {
  const auto num_inputs = static_cast<std::int64_t>(input_.size());
  const auto num_outputs = static_cast<std::int64_t>(output_.size());
  const bool gathers = case_.type.kind == CollectiveKind::kAllGather;
  const bool two = case_.placement == Placement::kApart || case_.placement == Placement::kViews;
  sides_.resize(two ? 2 : 1);
  switch (case_.placement) {
    case Placement::kApart:
      break;
    case Placement::kViews:
      input_offset_ = kMargin;
      output_offset_ = kMargin + 2;
      break;
    case Placement::kNeighbours:
      input_offset_ = kMargin;
      output_offset_ = kMargin + num_inputs;
      break;
    case Placement::kInPlace:
      input_offset_ = kMargin + (gathers ? own_part_ : 0);
      output_offset_ = kMargin + (gathers ? 0 : own_part_);
      break;
    case Placement::kShifted:
      input_offset_ = kMargin + (gathers ? 1 : 0);
      output_offset_ = kMargin + (gathers ? 0 : 1);
      break;
  }
  const std::int64_t margin = case_.placement == Placement::kApart ? 0 : kMargin;
  const std::int64_t input_end = input_offset_ + num_inputs + margin;
  const std::int64_t output_end = output_offset_ + num_outputs + margin;
  fill(sides_.front(), two ? input_end : std::max(input_end, output_end), rank);
  if (two) fill(output_side(), output_end, rank);
  std::copy(input_.begin(), input_.end(), sides_.front().expected.begin() + input_offset_);
  for (Side& side : sides_) {
    put_bytes(*device_, side.tensor.buffer(), image_of(case_.type.dtype, side.expected));
  }
  std::copy(output_.begin(), output_.end(), output_side().expected.begin() + output_offset_);
}

void PreparedCall::fill(Side& side, std::int64_t num_elements, const TestRank& rank) const {
  side.tensor = rank.empty(num_elements, case_.type.dtype);
  side.expected.clear();
  for (std::int64_t i = 0; i < num_elements; ++i) side.expected.push_back(filler_units(i));
}

CollectiveCall PreparedCall::call() const {
  Buffer input = sides_.front().tensor.buffer();
  input.offset = input_offset_;
  input.count = static_cast<std::int64_t>(input_.size());
  Buffer output = sides_.back().tensor.buffer();
  output.offset = output_offset_;
  output.count = static_cast<std::int64_t>(output_.size());
  // An empty buffer may have a storage or none.
  const auto storage_is_needed = [&](const Buffer& buffer) {
    return buffer.count > 0 || case_.placement != Placement::kApart;
  };
  return {.label = label_of(case_.type.kind),
          .kind = case_.type.kind,
          .input = storage_is_needed(input) ? input : Buffer{.dtype = case_.type.dtype},
          .output = storage_is_needed(output) ? output : Buffer{.dtype = case_.type.dtype},
          .op = case_.type.op,
          .peer = peer_,
          .tag = is_message(case_.type.kind) ? static_cast<std::int64_t>(case_.seed) : 0,
          .input_splits = input_splits_,
          .output_splits = output_splits_};
}

std::string PreparedCall::complaint() const {
  const auto element = static_cast<std::size_t>(element_bytes(case_.type.dtype));
  for (const Side& side : sides_) {
    const Image expected = image_of(case_.type.dtype, side.expected);
    const Image found = bytes_of(*device_, side.tensor.buffer());
    if (found == expected) continue;
    std::size_t at = 0;
    while (std::memcmp(found.data() + at, expected.data() + at, element) == 0) at += element;
    return fmt::format("{}, {}: element {} of the {} is {}, should be {}",
                       where_,
                       to_text(case_),
                       static_cast<std::int64_t>(at / element) -
                           (&side == &sides_.back() ? output_offset_ : input_offset_),
                       &side == &sides_.back() ? "output" : "input",
                       element_text(case_.type.dtype, found.data() + at),
                       element_text(case_.type.dtype, expected.data() + at));
  }
  return {};
}

std::vector<std::string> run_prepared(Communicator& communicator,
                                      const std::vector<PreparedCall>& prepared) {
  std::vector<CollectiveCall> calls;
  for (const PreparedCall& each : prepared) calls.push_back(each.call());
  const Ticket ticket = communicator.submit(calls);
  ticket.source->wait(ticket.sequence, {}, calls.front().label);
  std::vector<std::string> complaints;
  for (const PreparedCall& each : prepared) {
    if (std::string wrong = each.complaint(); !wrong.empty()) {
      complaints.push_back(std::move(wrong));
    }
  }
  return complaints;
}

}  // namespace lockstep::test
