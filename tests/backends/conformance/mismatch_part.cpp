// Each kind of disagreement between members is one finding that says what, where and who.
#include <fmt/format.h>

#include <algorithm>

#include "tests/backends/conformance/part.h"

namespace lockstep::test {
namespace {

using Splits = std::vector<std::int64_t>;

// What ranks call; all but the odd one make the same calls.
struct Attempt {
  int me;    // in the group
  int size;  // of the group
  bool is_odd;
  std::vector<CollectiveCall>& calls;  // one at first: an all_reduce in place of 12 a member, f64
};

struct Row {
  std::string_view text;  // in the finding's message
  std::function<void(const Attempt&)> prepare;
  bool names_both = false;  // nobody can say which end is wrong
};

GroupRank after(const Attempt& a) { return {(a.me + 1) % a.size}; }
GroupRank before(const Attempt& a) { return {(a.me + a.size - 1) % a.size}; }

std::vector<Row> wrong_collectives() {
  return {
      {"calls all_to_all 'test.call' where the others call all_reduce 'test.call'",
       [](const Attempt& a) {
         if (a.is_odd) a.calls[0].kind = CollectiveKind::kAllToAll;
       }},
      {"with dtype i64 where the others have f64",
       [](const Attempt& a) {
         if (a.is_odd) a.calls[0].input.dtype = a.calls[0].output.dtype = DType::kI64;
       }},
      {"with count 4 where the others have 12",
       [](const Attempt& a) {
         a.calls[0].input.count = a.calls[0].output.count = a.is_odd ? 4 : 12;
       }},
      {"with op max where the others have sum",
       [](const Attempt& a) {
         if (a.is_odd) a.calls[0].op = ReduceOp::kMax;
       }},
      {"with root 1 where the others have 0",
       [](const Attempt& a) {
         a.calls[0].kind = CollectiveKind::kBroadcast;
         a.calls[0].peer = {a.is_odd ? 1 : 0};
       }},
      {"calls all_reduce 'test.other' where the others call all_reduce 'test.call'",
       [](const Attempt& a) {
         if (a.is_odd) a.calls[0].label = "test.other";
       }},
      {"2 calls in one submit where the others have 1",
       [](const Attempt& a) {
         if (a.is_odd) a.calls.push_back(a.calls[0]);
       }},
  };
}

// `usual` and `odd` are splits of 12 elements a member, which differ in the first two.
std::vector<Row> wrong_splits(const Splits& usual, const Splits& odd) {
  return {
      {"with splits [11, 13",
       [&](const Attempt& a) {
         a.calls[0].kind = CollectiveKind::kAllGather;
         a.calls[0].input.count = 12;
         a.calls[0].output_splits = a.is_odd ? odd : usual;
       }},
      {"with splits [11, 13",
       [&](const Attempt& a) {
         a.calls[0].kind = CollectiveKind::kReduceScatter;
         a.calls[0].output.count = 12;
         a.calls[0].input_splits = a.is_odd ? odd : usual;
       }},
      {.text = "in all_to_all 'test.call' rank",
       .prepare =
           [&](const Attempt& a) {
             a.calls[0].kind = CollectiveKind::kAllToAll;
             a.calls[0].input_splits = a.is_odd ? odd : usual;
             a.calls[0].output_splits = usual;
           },
       .names_both = true},
  };
}

// Around the ring; the odd rank receives what it does not expect.
std::vector<Row> wrong_messages() {
  const auto row = [](std::string_view text, const std::function<void(CollectiveCall&)>& spoil) {
    return Row{.text = text,
               .prepare =
                   [spoil](const Attempt& a) {
                     CollectiveCall send = a.calls[0];
                     CollectiveCall recv = a.calls[0];
                     send.kind = CollectiveKind::kSend;
                     send.output = {};
                     send.peer = after(a);
                     recv.kind = CollectiveKind::kRecv;
                     recv.input = {};
                     recv.peer = before(a);
                     send.tag = recv.tag = 10;
                     if (a.is_odd) spoil(recv);
                     a.calls = {send, recv};
                   },
               .names_both = true};
  };
  return {row("tag 10 where it expects 11", [](CollectiveCall& recv) { recv.tag = 11; }),
          row("elements where it expects 4", [](CollectiveCall& recv) { recv.output.count = 4; }),
          row("f64 where it expects i64",
              [](CollectiveCall& recv) { recv.output.dtype = DType::kI64; })};
}

// The odd rank is the last of the world: of a group that is not the first of its kind, where the
// world has such.
std::string complaint_of(const TestedBackend& backend, int world, const Row& row) {
  const GroupKind kind =
      group_kinds_of_world(world).back() == GroupKind::kDp ? GroupKind::kDp : GroupKind::kWorld;
  std::string group;
  const RunOutcome outcome = backend.run(layout_of_world(world), [&](TestRank& r) {
    const auto communicator = r.connect(kind);
    const bool is_odd = r.rank.value == world - 1;
    if (is_odd) group = to_text(communicator->group());
    const int size = communicator->group().size();
    const Tensor values = r.empty(12 * size);
    std::vector<CollectiveCall> calls{{.label = "test.call",
                                       .kind = CollectiveKind::kAllReduce,
                                       .input = values.buffer(),
                                       .output = values.buffer()}};
    row.prepare({.me = rank_in(*communicator, r.rank).value,
                 .size = size,
                 .is_odd = is_odd,
                 .calls = calls});
    const Ticket ticket = communicator->submit(calls);
    ticket.source->wait(ticket.sequence, {}, "test.wait");
  });
  const std::string wanted = fmt::format("wanted one mismatch with '{}' on {}", row.text, group);
  if (outcome.findings.size() != 1) {
    return fmt::format("{}, got {} findings", wanted, outcome.findings.size());
  }
  const backends::Finding& finding = outcome.findings.front();
  const auto holds = [&](std::string_view part) {
    return finding.message.find(part) != std::string::npos;
  };
  const std::vector<Rank> odd{Rank{world - 1}};
  const bool names_odd =
      std::find(finding.ranks.begin(), finding.ranks.end(), odd[0]) != finding.ranks.end();
  const bool is_told = finding.kind == backends::FindingKind::kMismatch && holds(row.text) &&
                       holds("on " + group) && (row.names_both ? names_odd : finding.ranks == odd);
  return is_told ? "" : fmt::format("{}, got: {}", wanted, finding.message);
}

}  // namespace

PartReport check_mismatches(const TestedBackend& backend, int world) {
  constexpr int kSize = 3;  // of the groups of both worlds that are tried
  const Splits usual(kSize, 12);
  const Splits odd{11, 13, 12};
  PartReport report;
  for (const std::vector<Row>& rows :
       {wrong_collectives(), wrong_splits(usual, odd), wrong_messages()}) {
    for (const Row& row : rows) {
      ++report.num_checks;
      std::string complaint = complaint_of(backend, world, row);
      if (!complaint.empty()) report.complaints.push_back(std::move(complaint));
    }
  }
  return report;
}

}  // namespace lockstep::test
