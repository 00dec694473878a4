// Programs that cannot end well: who hangs, throws, leaves early or forgets a call is told.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "tests/backends/conformance/part.h"

namespace lockstep::test {
namespace {

using backends::Finding;
using backends::FindingKind;

struct Row {
  std::string_view what;
  FindingKind kind;       // of the first finding
  std::string_view text;  // in its message
  std::vector<int> ranks;
  RankProgram program;
};

void barrier(Communicator& communicator, std::string_view label) {
  run_call(communicator, {.label = label, .kind = CollectiveKind::kBarrier});
}

// The last rank is the one at fault.
std::vector<Row> faults_of_one(int world) {
  const int last = world - 1;
  const auto is_last = [last](const TestRank& r) { return r.rank.value == last; };
  return {
      {.what = "a rank that returns early",
       .kind = FindingKind::kDeadlock,
       .text = "in barrier 'test.barrier' on world#0",
       .ranks = {last},
       .program =
           [=](TestRank& r) {
             const auto all = r.connect(GroupKind::kWorld);
             if (!is_last(r)) barrier(*all, "test.barrier");
           }},
      {.what = "a rank that throws",
       .kind = FindingKind::kRankError,
       .text = "a planted error",
       .ranks = {last},
       .program =
           [=](TestRank& r) {
             const auto all = r.connect(GroupKind::kWorld);
             barrier(*all, "test.first");
             if (is_last(r)) throw std::runtime_error("a planted error");
             barrier(*all, "test.barrier");
           }},
      {.what = "a receive without a send",
       .kind = FindingKind::kDeadlock,
       .text = "recv 'test.recv' on world#0",
       .ranks = {0},
       .program =
           [=](TestRank& r) {
             const auto all = r.connect(GroupKind::kWorld);
             const Tensor values = r.empty(2);
             if (!is_last(r)) return;
             run_call(*all,
                      {.label = "test.recv",
                       .kind = CollectiveKind::kRecv,
                       .output = values.buffer(),
                       .peer = GroupRank{0}});
           }},
      {.what = "a call that a rank does not wait for",
       .kind = FindingKind::kPending,
       .text = "barrier 'test.forgotten' on world#0",
       .ranks = {last},
       .program =
           [=](TestRank& r) {
             const auto all = r.connect(GroupKind::kWorld);
             const CollectiveCall call{.label = "test.forgotten", .kind = CollectiveKind::kBarrier};
             const Ticket ticket = all->submit({&call, 1});
             if (!is_last(r)) ticket.source->wait(ticket.sequence, {}, "test.wait");
             barrier(*all, "test.last");
           }},
  };
}

std::vector<Row> cycles(int world) {
  std::vector<int> everybody;
  for (int rank = 0; rank < world; ++rank) everybody.push_back(rank);
  return {
      {.what = "two communicators in opposite orders",
       .kind = FindingKind::kDeadlock,
       .text = "deadlock, a cycle",
       .ranks = everybody,
       .program =
           [](TestRank& r) {
             const auto one = r.connect(GroupKind::kWorld);
             const auto two = r.connect(GroupKind::kWorld);
             const bool first = r.rank.value == 0;
             barrier(first ? *one : *two, first ? "test.one" : "test.two");
             barrier(first ? *two : *one, first ? "test.two" : "test.one");
           }},
      {.what = "sends around a ring before any receive",
       .kind = FindingKind::kDeadlock,
       .text = "in send 'test.send' on world#0",
       .ranks = everybody,
       .program =
           [world](TestRank& r) {
             const auto all = r.connect(GroupKind::kWorld);
             const Tensor values = r.tensor({1.0});
             run_call(*all,
                      {.label = "test.send",
                       .kind = CollectiveKind::kSend,
                       .input = values.buffer(),
                       .peer = GroupRank{(r.rank.value + 1) % world}});
             run_call(*all,
                      {.label = "test.recv",
                       .kind = CollectiveKind::kRecv,
                       .output = values.buffer(),
                       .peer = GroupRank{(r.rank.value + world - 1) % world}});
           }},
  };
}

std::string complaint_of(const TestedBackend& backend, int world, const Row& row) {
  const RunOutcome outcome = backend.run(layout_of_world(world), row.program);
  if (outcome.findings.empty()) return fmt::format("{}: no finding", row.what);
  const Finding& finding = outcome.findings.front();
  std::vector<Rank> wanted;
  for (const int rank : row.ranks) wanted.push_back({rank});
  const bool is_told = finding.kind == row.kind && finding.ranks == wanted &&
                       finding.message.find(row.text) != std::string::npos;
  return is_told ? ""
                 : fmt::format("{}: wanted '{}', got: {}", row.what, row.text, finding.message);
}

}  // namespace

PartReport check_endings(const TestedBackend& backend, int world) {
  PartReport report;
  for (const std::vector<Row>& rows : {faults_of_one(world), cycles(world)}) {
    for (const Row& row : rows) {
      ++report.num_checks;
      std::string complaint = complaint_of(backend, world, row);
      if (!complaint.empty()) report.complaints.push_back(std::move(complaint));
    }
  }
  return report;
}

}  // namespace lockstep::test
