// Each wrong argument is refused on its rank with the sentence that says so, and costs nothing
// else.
#include <fmt/format.h>

#include <stdexcept>

#include "core/base/errors.h"
#include "tests/backends/conformance/part.h"
#include "tests/support/device_memory.h"

namespace lockstep::test {
namespace {

using Splits = std::vector<std::int64_t>;

// Of a group of `size`: equal splits of 4 elements and what may be wrong with them.
struct SomeSplits {
  explicit SomeSplits(int size) : equal(static_cast<std::size_t>(size), 4) {
    too_many = too_long = negative = own_is_other = equal;
    too_many.push_back(0);
    ++too_long.back();
    negative.back() = -1;
    for (std::int64_t& part : own_is_other) part = 3;
  }
  Splits equal;
  Splits too_many;
  Splits too_long;
  Splits negative;
  Splits own_is_other;  // sums to 3 a rank
};

struct Row {
  std::string sentence;
  std::function<void(CollectiveCall&)> spoil;
};

std::string text_of(const Splits& splits) {
  std::string text;
  for (const std::int64_t part : splits)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", part);
  return "[" + text + "]";
}

// What is wrong with buffers, peers and dtypes. The call starts as an all_reduce in place of 4
// elements a rank, of f64.
std::vector<Row> wrong_buffers(int size) {
  const std::int64_t count = 4 * size;
  const std::int64_t held = (count + 7) / 8 * 8;  // storages are whole lines of 64 bytes
  const auto becomes = [](CollectiveKind kind) {
    return [kind](CollectiveCall& c) { c.kind = kind; };
  };
  const auto peer = [](CollectiveKind kind, int value) {
    return [kind, value](CollectiveCall& c) {
      c.kind = kind;
      (kind == CollectiveKind::kRecv ? c.input : c.output).count = 0;
      if (kind == CollectiveKind::kBroadcast) c.output.count = c.input.count;
      c.peer = GroupRank{value};
    };
  };
  return {
      {fmt::format("input has {} elements and output {}", count, count - 1),
       [](CollectiveCall& c) { --c.output.count; }},
      {"input is f64 and output i64", [](CollectiveCall& c) { c.output.dtype = DType::kI64; }},
      {fmt::format("input ends at element {} of a storage 'test.tensor' of {}", held + 1, held),
       [=](CollectiveCall& c) { c.input.offset = held + 1 - count; }},
      {fmt::format("output ends at element {} of a storage 'test.tensor' of {}", held + 2, held),
       [=](CollectiveCall& c) { c.output.offset = held + 2 - count; }},
      {fmt::format("output of {} has no storage", count),
       [](CollectiveCall& c) { c.output.storage = nullptr; }},
      {fmt::format("input has offset -1 and count {}", count),
       [](CollectiveCall& c) { c.input.offset = -1; }},
      {"output has offset 0 and count -2", [](CollectiveCall& c) { c.output.count = -2; }},
      {fmt::format("takes no input, got one of {} elements", count),
       becomes(CollectiveKind::kBarrier)},
      {fmt::format("takes no output, got one of {} elements", count),
       becomes(CollectiveKind::kSend)},
      {fmt::format("takes no input, got one of {} elements", count),
       becomes(CollectiveKind::kRecv)},
      {fmt::format("peer {} is not within the group of {}", size, size),
       peer(CollectiveKind::kBroadcast, size)},
      {fmt::format("peer -1 is not within the group of {}", size), peer(CollectiveKind::kSend, -1)},
      {fmt::format("peer {} is not within the group of {}", size + 3, size),
       peer(CollectiveKind::kRecv, size + 3)},
  };
}

// What is wrong with splits and with the sizes that must fit them.
std::vector<Row> wrong_parts(int size, const SomeSplits& splits) {
  const std::int64_t count = 4 * size;
  const auto with = [](CollectiveKind kind, const Splits* input, const Splits* output) {
    return [=](CollectiveCall& c) {
      c.kind = kind;
      if (input != nullptr) c.input_splits = *input;
      if (output != nullptr) c.output_splits = *output;
    };
  };
  const auto add_up = [&](std::string_view side, const Splits& bad, std::int64_t sum) {
    return fmt::format(
        "{} splits {} add up to {}, the {} has {} elements", side, text_of(bad), sum, side, count);
  };
  using enum CollectiveKind;
  std::vector<Row> rows{
      {"takes no input splits", with(kAllReduce, &splits.equal, nullptr)},
      {"takes no output splits", with(kAllReduce, nullptr, &splits.equal)},
      {"takes no output splits", with(kReduceScatter, nullptr, &splits.equal)},
      {"takes no input splits", with(kAllGather, &splits.equal, nullptr)},
      {"takes no input splits", with(kBroadcast, &splits.equal, nullptr)},
      {fmt::format("input splits are {}, the group has {} ranks", text_of(splits.too_many), size),
       with(kReduceScatter, &splits.too_many, nullptr)},
      {fmt::format("output splits are {}, the group has {} ranks", text_of(splits.too_many), size),
       with(kAllGather, nullptr, &splits.too_many)},
      {fmt::format("input splits {} hold a negative one", text_of(splits.negative)),
       with(kAllToAll, &splits.negative, nullptr)},
      {add_up("input", splits.too_long, count + 1),
       with(kReduceScatter, &splits.too_long, nullptr)},
      {add_up("output", splits.too_long, count + 1), with(kAllToAll, nullptr, &splits.too_long)},
  };
  rows.push_back({"input has 5 elements where this rank's split is 4", [&](CollectiveCall& c) {
                    c.kind = kAllGather;
                    c.input.count = 5;
                    c.output_splits = splits.equal;
                  }});
  rows.push_back(
      {"output has 2 elements where this rank's split is 3", [&, size](CollectiveCall& c) {
         c.kind = kReduceScatter;
         c.input.count = 3 * size;
         c.output.count = 2;
         c.input_splits = splits.own_is_other;
       }});
  rows.push_back(
      {fmt::format("output has {} elements and input 3, for {} equal parts", count, size),
       [](CollectiveCall& c) {
         c.kind = kAllGather;
         c.input.count = 3;
       }});
  if (size > 1) {
    rows.push_back(
        {fmt::format("input has {} elements and output {}, for {} equal parts", count, count, size),
         [](CollectiveCall& c) { c.kind = kReduceScatter; }});
    rows.push_back({fmt::format("output of {} elements has no {} equal parts", count - 1, size),
                    [](CollectiveCall& c) {
                      c.kind = kAllToAll;
                      --c.output.count;
                    }});
  }
  return rows;
}

CollectiveCall good_call(const Tensor& values) {
  return {.label = "test.call",
          .kind = CollectiveKind::kAllReduce,
          .input = values.buffer(),
          .output = values.buffer()};
}

// What the refusal lacks of label, group and sentence; empty for nothing.
std::string refusal_complaint(Communicator& communicator,
                              const CollectiveCall& call,
                              const std::string& sentence) {
  const std::string wanted =
      fmt::format("'test.call' on {}: {}", to_text(communicator.group()), sentence);
  try {
    communicator.submit({&call, 1});
    return fmt::format("was not refused: {}", wanted);
  } catch (const InternalError& error) {
    if (std::string(error.what()).find(wanted) != std::string::npos) return {};
    return fmt::format("was refused with '{}' instead of '{}'", error.what(), wanted);
  }
}

// A refused call that the program lets go is the error of that rank alone.
std::string uncaught_complaint(const TestedBackend& backend, int world) {
  const RunOutcome outcome = backend.run(layout_of_world(world), [&](TestRank& r) {
    const auto communicator = r.connect(GroupKind::kWorld);
    const Tensor values = r.empty(4);
    CollectiveCall call = good_call(values);
    if (r.rank.value == world - 1) call.output.dtype = DType::kI64;
    run_call(*communicator, call);
  });
  if (outcome.findings.empty()) return "a refused call that nobody caught left no finding";
  const backends::Finding& error = outcome.findings.front();
  const bool is_told = error.kind == backends::FindingKind::kRankError &&
                       error.ranks == std::vector<Rank>{Rank{world - 1}} &&
                       error.message.find("input is f64 and output i64") != std::string::npos;
  return is_told ? "" : "a refused call that nobody caught was told as: " + error.message;
}

}  // namespace

PartReport check_arguments(const TestedBackend& backend, int world) {
  const SomeSplits splits(world);
  std::vector<Row> rows = wrong_buffers(world);
  for (Row& row : wrong_parts(world, splits)) rows.push_back(std::move(row));
  PartReport report = run_part(backend, world, [&](TestRank& r, RankNotes& notes) {
    const auto communicator = r.connect(GroupKind::kWorld);
    for (const Row& row : rows) {
      const Tensor values = r.empty(4 * world);
      CollectiveCall call = good_call(values);
      row.spoil(call);
      notes.check(refusal_complaint(*communicator, call, row.sentence));
    }
    // The communicator is as good as before.
    const Tensor values = r.tensor({1.0});
    ++notes.num_calls;
    run_call(*communicator, good_call(values));
    notes.check(values_of(r.device, values)[0] == world
                    ? ""
                    : "a call after refused ones gave a wrong sum");
  });
  ++report.num_checks;
  if (std::string wrong = uncaught_complaint(backend, world); !wrong.empty()) {
    report.complaints.push_back(std::move(wrong));
  }
  return report;
}

}  // namespace lockstep::test
