// A dropped call never reaches the backend; the others of its submit do.
#include "simulator/defects/dropping_transport.h"

#include <gtest/gtest.h>

#include "tests/support/spawn_ranks.h"

namespace lockstep::sim {
namespace {

using test::spawn_ranks;
using test::TestRank;
using test::values_of;

TEST(DroppingTransport, DropsByTheBeginningOfTheLabel) {
  const std::vector<std::string> dropped{"finalize.dp_sum."};
  const ClusterReport report = spawn_ranks(2, [&](TestRank& rank) {
    DroppingTransport transport(rank.transport, dropped);
    const auto communicator =
        transport.connect(rank.rank, *rank.mesh.group_of(GroupKind::kTp, rank.rank));
    const Tensor lost = rank.tensor({1.0});
    const Tensor kept = rank.tensor({1.0});
    const auto sum = [](const Tensor& tensor, std::string_view label) {
      return CollectiveCall{.label = label, .input = tensor.buffer(), .output = tensor.buffer()};
    };
    wait_for(rank.device,
             communicator->submit(std::vector{sum(lost, "finalize.dp_sum.bucket0")}),
             "finalize.dp_sum.bucket0");
    wait_for(rank.device,
             communicator->submit(std::vector{sum(lost, "finalize.dp_sum.bucket1"),
                                              sum(kept, "finalize.totals_sum")}),
             "finalize.totals_sum");
    EXPECT_EQ(values_of(lost), std::vector{1.0});
    EXPECT_EQ(values_of(kept), std::vector{2.0});
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
  EXPECT_EQ(report.num_calls, 2) << "one kept call on each of two ranks";
}

}  // namespace
}  // namespace lockstep::sim
