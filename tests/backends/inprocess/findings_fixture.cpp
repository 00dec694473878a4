// The cluster and the expectation that tests of findings share.
#include "tests/backends/inprocess/findings_fixture.h"

namespace lockstep::test {

std::string host_name(const testing::TestParamInfo<sim::RankHost>& parameter) {
  return parameter.param == sim::RankHost::kFibers ? "Fibers" : "Threads";
}

sim::ClusterReport FindingsTest::spawn(const LayoutSizes& sizes,
                                       const std::function<void(TestRank&)>& program) const {
  return spawn_ranks(layout_of(sizes), program, {.host = GetParam()});
}

sim::ClusterReport FindingsTest::spawn_calls(
    int tp, const std::function<void(TestRank&, CollectiveCall&)>& prepare) const {
  return spawn({.tp = tp}, [&](TestRank& r) {
    const auto communicator = r.connect(GroupKind::kTp);
    const Tensor values = r.empty(8);
    CollectiveCall call{.label = "test.call",
                        .kind = CollectiveKind::kAllReduce,
                        .input = values.buffer(),
                        .output = values.buffer()};
    prepare(r, call);
    run_call(*communicator, call);
  });
}

void expect_only(const sim::ClusterReport& report,
                 backends::FindingKind kind,
                 const std::string& text) {
  ASSERT_EQ(report.findings.size(), 1U) << to_text(report);
  EXPECT_EQ(report.findings[0].kind, kind);
  EXPECT_NE(report.findings[0].message.find(text), std::string::npos)
      << "wanted: " << text << "\ngot: " << to_text(report);
}

}  // namespace lockstep::test
