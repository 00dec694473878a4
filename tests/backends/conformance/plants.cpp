// The bugs that a transport may have, one function each.
#include "tests/backends/conformance/plants.h"

#include <algorithm>
#include <cmath>

#include "core/base/errors.h"
#include "core/comm/call_rules.h"
#include "core/tensor/storage.h"
#include "tests/backends/conformance/spoilt_transport.h"

namespace lockstep::test {
namespace {

TestedBackend spoilt(const std::string& name, const Spoiling& spoiling) {
  return {.name = name, .run = [spoiling](const Layout& layout, const RankProgram& program) {
            return run_spoilt(spoiling, layout, program);
          }};
}

std::size_t width(const CollectiveCall& call) {
  return static_cast<std::size_t>(element_bytes(call.output.dtype));
}

void drop_last_element(SpoiltCall& spoilt) {
  Bytes bytes = bytes_of(spoilt.call.output);
  std::copy(
      spoilt.before.end() - static_cast<std::ptrdiff_t>(bytes.empty() ? 0 : width(spoilt.call)),
      spoilt.before.end(),
      bytes.end() - static_cast<std::ptrdiff_t>(bytes.empty() ? 0 : width(spoilt.call)));
  put_bytes(spoilt.call.output, bytes);
}

// Bytes of the parts of an output, by member.
std::vector<Bytes> parts_of(const SpoiltCall& spoilt) {
  const CollectiveCall& call = spoilt.call;
  const Bytes bytes = bytes_of(call.output);
  const auto size = static_cast<std::size_t>(spoilt.group.size());
  std::vector<Bytes> parts;
  auto begin = bytes.begin();
  for (std::size_t i = 0; i < size; ++i) {
    const std::int64_t count =
        part_count(call.output, call.output_splits, {.index = i, .of = size});
    const auto end = begin + count * static_cast<std::int64_t>(width(call));
    parts.emplace_back(begin, end);
    begin = end;
  }
  return parts;
}

void gather_backwards(SpoiltCall& spoilt) {
  if (spoilt.call.kind != CollectiveKind::kAllGather) return;
  std::vector<Bytes> parts = parts_of(spoilt);
  std::reverse(parts.begin(), parts.end());
  Bytes bytes;
  for (const Bytes& part : parts) bytes.insert(bytes.end(), part.begin(), part.end());
  put_bytes(spoilt.call.output, bytes);
}

// Each part where it would be if all were of one size.
void ignore_splits(SpoiltCall& spoilt) {
  if (spoilt.call.output_splits.empty()) return;
  const std::vector<Bytes> parts = parts_of(spoilt);
  Bytes bytes = spoilt.before;
  const std::size_t stride = bytes.size() / width(spoilt.call) / parts.size() * width(spoilt.call);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t room = bytes.size() - i * stride;
    std::copy_n(parts[i].begin(),
                std::min(room, parts[i].size()),
                bytes.begin() + static_cast<std::ptrdiff_t>(i * stride));
  }
  put_bytes(spoilt.call.output, bytes);
}

void sum_for_max(SpoiltCall& spoilt) { spoilt.call.op = ReduceOp::kSum; }

void write_beyond(SpoiltCall& spoilt) {
  Buffer behind = spoilt.call.output;
  if (behind.count == 0) return;
  behind.offset += behind.count;
  behind.count = 1;
  const bool has_room =
      (behind.offset + 1) * element_bytes(behind.dtype) <= behind.storage->num_bytes();
  if (has_room) put_bytes(behind, Bytes(width(spoilt.call), std::byte{0x3f}));
}

// As a backend does that clears its outputs first.
void clear_output(SpoiltCall& spoilt) {
  const Bytes zeros(spoilt.before.size());
  put_bytes(spoilt.call.output, zeros);
}

void return_early(SpoiltCall& spoilt) { put_bytes(spoilt.call.output, spoilt.before); }

void complete_in_order_alone(SpoiltCall& spoilt) {
  if (!spoilt.is_oldest) return_early(spoilt);
}

// Members by their ranks in the world.
void take_peers_for_ranks(SpoiltCall& spoilt) {
  const bool has_peer =
      is_message(spoilt.call.kind) || spoilt.call.kind == CollectiveKind::kBroadcast;
  if (!has_peer) return;
  spoilt.call.peer = spoilt.group.rank_of(Rank{spoilt.call.peer.value}).value_or(GroupRank{0});
}

void each_f64(const SpoiltCall& spoilt, const std::function<double(double)>& change) {
  const Buffer& output = spoilt.call.output;
  if (output.dtype != DType::kF64 || output.count == 0) return;
  auto* elements = reinterpret_cast<double*>(output.bytes());
  std::transform(elements, elements + output.count, elements, change);
}

void reduce_in_f32(SpoiltCall& spoilt) {
  if (!reduces(spoilt.call.kind)) return;
  each_f64(spoilt, [](double x) { return static_cast<double>(static_cast<float>(x)); });
}

void start_maximum_at_zero(SpoiltCall& spoilt) {
  if (!reduces(spoilt.call.kind) || spoilt.call.op != ReduceOp::kMax) return;
  each_f64(spoilt, [](double x) { return std::max(0.0, x); });
}

// As `m < x ? x : m` does.
void lose_nan(SpoiltCall& spoilt) {
  if (spoilt.call.op != ReduceOp::kMax) return;
  each_f64(spoilt, [](double x) { return std::isnan(x) ? 1.0 : x; });
}

void drop_tag(SpoiltCall& spoilt) { spoilt.call.tag = 0; }

TestedBackend tells_nothing() {
  return {.name = "tells_no_findings", .run = [](const Layout& layout, const RankProgram& program) {
            RunOutcome outcome = run_spoilt({}, layout, program);
            outcome.findings.clear();
            return outcome;
          }};
}

}  // namespace

std::vector<Plant> plants() {
  const CallType lacking{
      .kind = CollectiveKind::kAllReduce, .dtype = DType::kI64, .op = ReduceOp::kMax};
  const std::vector<std::string> all_values{"all_reduce",
                                            "reduce_scatter",
                                            "all_gather",
                                            "all_to_all",
                                            "broadcast",
                                            "messages",
                                            "in_flight"};
  return {
      {spoilt("nothing_planted", {}), {}, ""},
      {spoilt("lacks_and_says_so", {.lacks = lacking, .refuses_what_it_lacks = true}), {}, ""},
      {spoilt("drops_the_last_element", {.on_wait = drop_last_element}), all_values, "should be"},
      {spoilt("gathers_backwards", {.on_wait = gather_backwards}),
       {"all_gather", "in_flight", "adjoints"},
       "of the output is"},
      {spoilt("sums_for_max", {.on_submit = sum_for_max}),
       {"all_reduce", "reduce_scatter", "mismatches"},
       "max"},
      {spoilt("writes_beyond_the_output", {.on_wait = write_beyond}), all_values, "should be"},
      {spoilt("ignores_splits", {.on_wait = ignore_splits}),
       {"all_gather", "all_to_all", "in_flight", "adjoints"},
       "uneven"},
      {spoilt("clears_outputs_that_are_inputs", {.on_submit = clear_output}),
       {"all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "arguments"},
       "in place"},
      {spoilt("returns_before_data_is_there", {.on_wait = return_early}), all_values, "should be"},
      {spoilt("completes_in_order_alone", {.on_wait = complete_in_order_alone}),
       {"in_flight"},
       "should be"},
      {spoilt("takes_peers_for_ranks", {.on_submit = take_peers_for_ranks}),
       {"broadcast", "messages", "in_flight"},
       "dp#1 {1, 3}"},
      {spoilt("reduces_in_f32", {.on_wait = reduce_in_f32}),
       {"all_reduce", "reduce_scatter", "in_flight"},
       "f64"},
      {spoilt("starts_a_maximum_at_zero", {.on_wait = start_maximum_at_zero}),
       {"all_reduce", "reduce_scatter"},
       "f64 max"},
      {spoilt("loses_nan_in_a_maximum", {.on_wait = lose_nan}),
       {"special_values"},
       "all_reduce f64 max"},
      {spoilt("swallows_wrong_calls", {.swallows_wrong_calls = true}),
       {"arguments"},
       "was not refused"},
      {spoilt("drops_tags", {.on_submit = drop_tag}), {"mismatches"}, "tag 10 where"},
      {spoilt("lets_ranks_through_a_barrier", {.skips_barrier_waits = true}),
       {"barrier", "endings"},
       "was left when"},
      {spoilt("lacks_and_does_it_all_the_same", {.lacks = lacking}),
       {"unsupported"},
       "was not refused"},
      {tells_nothing(), {"mismatches", "endings", "arguments"}, "got 0 findings"},
  };
}

}  // namespace lockstep::test
