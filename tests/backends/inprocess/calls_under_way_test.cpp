// Messages, several calls of one submit and several communicators, all under way at once.
#include <gtest/gtest.h>

#include <vector>

#include "tests/backends/inprocess/worlds.h"

namespace lockstep::test {
namespace {

class CallsUnderWay : public EachWorld {};

INSTANTIATE_TEST_SUITE_P(Everywhere,
                         CallsUnderWay,
                         testing::ValuesIn(all_options()),
                         option_name_of);

TEST_P(CallsUnderWay, GroupedMessagesGoAroundARingWithoutDeadlock) {
  spawn(4, [](TestRank& r, Communicator& tp) {
    const Tensor sent = r.tensor({1.0 * r.rank.value});
    const Tensor received = r.empty(1);
    const std::vector<CollectiveCall> calls{{.label = "test.send",
                                             .kind = CollectiveKind::kSend,
                                             .input = sent.buffer(),
                                             .peer = GroupRank{(r.rank.value + 1) % 4},
                                             .tag = 7},
                                            {.label = "test.recv",
                                             .kind = CollectiveKind::kRecv,
                                             .output = received.buffer(),
                                             .peer = GroupRank{(r.rank.value + 3) % 4},
                                             .tag = 7}};
    const Ticket ticket = tp.submit(calls);
    ticket.source->wait(ticket.sequence, {}, "test.wait");
    EXPECT_EQ(values_of(received)[0], (r.rank.value + 3) % 4);
  });
}

TEST_P(CallsUnderWay, MessagesOfAPairMatchInOrderWhileOthersPassBetween) {
  spawn(2, [](TestRank& r, Communicator& tp) {
    std::vector<Tensor> tensors;
    std::vector<Ticket> tickets;
    for (int i = 0; i < 5; ++i) {
      const bool sends = r.rank.value == 0;
      tensors.push_back(sends ? r.tensor({10.0 + i}) : r.empty(1));
      const CollectiveCall call{.label = sends ? "test.send" : "test.recv",
                                .kind = sends ? CollectiveKind::kSend : CollectiveKind::kRecv,
                                .input = sends ? tensors.back().buffer() : Buffer{},
                                .output = sends ? Buffer{} : tensors.back().buffer(),
                                .peer = GroupRank{1 - r.rank.value},
                                .tag = i};
      tickets.push_back(tp.submit({&call, 1}));
      run_call(tp, {.label = "test.between", .kind = CollectiveKind::kBarrier});
    }
    for (std::size_t i = 5; i > 0; --i) {
      tickets[i - 1].source->wait(tickets[i - 1].sequence, {}, "test.wait");
    }
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(values_of(tensors[static_cast<std::size_t>(i)])[0], 10.0 + i);
    }
  });
}

TEST_P(CallsUnderWay, SeveralCallsOfOneSubmitAllComplete) {
  spawn(3, [](TestRank& r, Communicator& tp) {
    const Tensor a = r.tensor({1, 2});
    const Tensor b = r.tensor({1.0 * r.rank.value});
    const Tensor gathered = r.empty(3);
    const std::vector<CollectiveCall> calls{{.label = "test.first",
                                             .kind = CollectiveKind::kAllReduce,
                                             .input = a.buffer(),
                                             .output = a.buffer()},
                                            {.label = "test.second",
                                             .kind = CollectiveKind::kAllGather,
                                             .input = b.buffer(),
                                             .output = gathered.buffer()}};
    const Ticket ticket = tp.submit(calls);
    ticket.source->wait(ticket.sequence, {}, "test.wait");
    EXPECT_EQ(values_of(a), (std::vector<double>{3, 6}));
    EXPECT_EQ(values_of(gathered), (std::vector<double>{0, 1, 2}));
  });
}

TEST_P(CallsUnderWay, SubgroupsAndSeveralCommunicatorsAreUnderWayAtOnce) {
  const sim::ClusterReport report = spawn_ranks(
      layout_of({.tp = 2, .dp = 3}),
      [](TestRank& r) {
        const auto tp = r.connect(GroupKind::kTp);
        const auto dp = r.connect(GroupKind::kDp);
        const auto dp_again = r.connect(GroupKind::kDp);
        std::vector<Tensor> tensors;
        std::vector<Ticket> tickets;
        for (int i = 0; i < 4; ++i) {
          for (Communicator* communicator : {dp.get(), tp.get(), dp_again.get()}) {
            tensors.push_back(r.tensor({1.0 + r.rank.value, 1.0 * i}));
            const Buffer buffer = tensors.back().buffer();
            const CollectiveCall call{.label = "test.sum",
                                      .kind = CollectiveKind::kAllReduce,
                                      .input = buffer,
                                      .output = buffer};
            tickets.push_back(communicator->submit({&call, 1}));
          }
        }
        for (auto ticket = tickets.rbegin(); ticket != tickets.rend(); ++ticket) {
          ticket->source->wait(ticket->sequence, {}, "test.wait");
        }
        // Rank = tp + 2 dp.
        const int t = r.rank.value % 2;
        const int d = r.rank.value / 2;
        for (std::size_t i = 0; i < tensors.size(); ++i) {
          const bool over_tp = i % 3 == 1;
          const double sum = over_tp ? 2 * 2 * d + 1 + 2 : 3 * (t + 1) + 2 + 4;
          EXPECT_EQ(values_of(tensors[i])[0], sum);
          EXPECT_EQ(values_of(tensors[i])[1], static_cast<double>(i / 3) * (over_tp ? 2 : 3));
        }
      },
      GetParam());
  EXPECT_TRUE(report.findings.empty()) << to_text(report);
}

}  // namespace
}  // namespace lockstep::test
