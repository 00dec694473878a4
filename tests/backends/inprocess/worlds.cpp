// All combinations of host, reduction order and completion.
#include "tests/backends/inprocess/worlds.h"

namespace lockstep::test {
namespace {

std::string order_name(ReductionOrder order) {
  switch (order) {
    case ReductionOrder::kRank:
      return "rank";
    case ReductionOrder::kRing:
      return "ring";
    case ReductionOrder::kTree:
      return "tree";
    case ReductionOrder::kShuffled:
      return "shuffled";
  }
  return {};
}

std::string completion_name(Completion completion) {
  switch (completion) {
    case Completion::kEarly:
      return "early";
    case Completion::kLate:
      return "late";
    case Completion::kSeeded:
      return "seeded";
  }
  return {};
}

}  // namespace

std::vector<sim::ClusterOptions> all_options() {
  std::vector<sim::ClusterOptions> options;
  for (const sim::RankHost host : {sim::RankHost::kFibers, sim::RankHost::kThreads}) {
    for (const ReductionOrder order : {ReductionOrder::kRank,
                                       ReductionOrder::kRing,
                                       ReductionOrder::kTree,
                                       ReductionOrder::kShuffled}) {
      for (const Completion completion :
           {Completion::kEarly, Completion::kLate, Completion::kSeeded}) {
        options.push_back({.host = host,
                           .reduction_order = order,
                           .completion = completion,
                           .schedule_seed = options.size() % 3});
      }
    }
  }
  return options;
}

std::string option_name_of(const testing::TestParamInfo<sim::ClusterOptions>& options) {
  const sim::ClusterOptions& chosen = options.param;
  return std::string(chosen.host == sim::RankHost::kFibers ? "fibers_" : "threads_") +
         order_name(chosen.reduction_order) + "_" + completion_name(chosen.completion);
}

void EachWorld::spawn(int tp, const std::function<void(TestRank&, Communicator&)>& program) {
  const sim::ClusterReport report = spawn_ranks(
      tp, [&](TestRank& r) { program(r, *r.connect(GroupKind::kTp)); }, GetParam());
  EXPECT_TRUE(report.findings.empty()) << to_text(report);
  EXPECT_EQ(report.num_calls, report.num_matched);
}

}  // namespace lockstep::test
