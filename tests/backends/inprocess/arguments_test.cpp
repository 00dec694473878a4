// A call that cannot be made is an error of its rank alone.
#include <gtest/gtest.h>

#include "tests/backends/inprocess/findings_fixture.h"

namespace lockstep::test {
namespace {

using backends::Finding;
using backends::FindingKind;
using sim::ClusterReport;

class Arguments : public FindingsTest {};

INSTANTIATE_TEST_SUITE_P(OnBothHosts, Arguments, testing::ValuesIn(kBothHosts), host_name);

TEST_P(Arguments, ABadArgumentIsAnErrorOfThatRankWithLabelAndNumbers) {
  struct Row {
    std::string text;
    std::function<void(CollectiveCall&)> spoil;
  };
  static const std::vector<std::int64_t> bad_sum{5, 4};
  static const std::vector<std::int64_t> negative{9, -1};
  static const std::vector<std::int64_t> too_many{1, 2, 5};
  const std::vector<Row> rows{
      {"input has 8 elements and output 7", [](CollectiveCall& c) { c.output.count = 7; }},
      {"input is f64 and output i64", [](CollectiveCall& c) { c.output.dtype = DType::kI64; }},
      {"input ends at element 9 of a storage 'test.tensor' of 8",
       [](CollectiveCall& c) { c.input.offset = 1; }},
      {"output of 8 has no storage", [](CollectiveCall& c) { c.output.storage = nullptr; }},
      {"takes no input splits", [](CollectiveCall& c) { c.input_splits = bad_sum; }},
      {"takes no input, got one of 8 elements",
       [](CollectiveCall& c) { c.kind = CollectiveKind::kBarrier; }},
      {"takes no output, got one of 8 elements",
       [](CollectiveCall& c) { c.kind = CollectiveKind::kSend; }},
      {"peer 2 is not within the group of 2",
       [](CollectiveCall& c) {
         c.kind = CollectiveKind::kBroadcast;
         c.peer = GroupRank{2};
       }},
      {"input splits [5, 4] add up to 9, the input has 8 elements",
       [](CollectiveCall& c) {
         c.kind = CollectiveKind::kReduceScatter;
         c.input_splits = bad_sum;
       }},
      {"input splits [9, -1] hold a negative one",
       [](CollectiveCall& c) {
         c.kind = CollectiveKind::kAllToAll;
         c.input_splits = negative;
       }},
      {"output splits are [1, 2, 5], the group has 2 ranks",
       [](CollectiveCall& c) {
         c.kind = CollectiveKind::kAllGather;
         c.output_splits = too_many;
       }},
      {"input has 8 elements and output 8, for 2 equal parts",
       [](CollectiveCall& c) { c.kind = CollectiveKind::kReduceScatter; }},
      {"output of 7 elements has no 2 equal parts",
       [](CollectiveCall& c) {
         c.kind = CollectiveKind::kAllToAll;
         c.output.count = 7;
       }},
  };
  for (const Row& row : rows) {
    const ClusterReport report = spawn_calls(2, [&](TestRank& r, CollectiveCall& call) {
      if (r.rank.value == 1) row.spoil(call);
    });
    ASSERT_FALSE(report.findings.empty()) << row.text;
    const Finding& error = report.findings[0];
    EXPECT_EQ(error.kind, FindingKind::kRankError);
    EXPECT_EQ(error.ranks, std::vector<Rank>{Rank{1}});
    EXPECT_NE(error.message.find("'test.call' on tp#0 {0, 1}: " + row.text), std::string::npos)
        << "wanted: " << row.text << "\ngot: " << error.message;
  }
}

}  // namespace
}  // namespace lockstep::test
