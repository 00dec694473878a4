// Messages survive their bytes, and no other bytes are taken for one.
#include "backends/coordinator/protocol.h"

#include <gtest/gtest.h>

namespace lockstep::backends {
namespace {

// The payload of one frame.
std::string payload_of(const std::string& frame) { return frame.substr(4); }

TEST(Protocol, ACallKeepsAllThatMustAgree) {
  const std::vector<std::int64_t> inputs = {1, 0, 2};
  const std::vector<std::int64_t> outputs = {3};
  CollectiveCall call{.label = "moe.dispatch",
                      .kind = CollectiveKind::kAllToAll,
                      .op = ReduceOp::kMax,
                      .peer = GroupRank{2},
                      .tag = -7,
                      .input_splits = inputs,
                      .output_splits = outputs};
  call.input.dtype = DType::kBF16;
  call.input.count = 3;
  call.output.dtype = DType::kI64;
  call.output.count = 5;
  const std::string payload = payload_of(
      frame_of(FromRank(Submit{.communicator = 4, .calls = {call, call}, .splits = {}})));
  const FromRank message = rank_message(payload);
  const auto& submit = std::get<Submit>(message);
  EXPECT_EQ(submit.communicator, 4);
  ASSERT_EQ(submit.calls.size(), 2U);
  for (const CollectiveCall& its : submit.calls) {
    EXPECT_EQ(its.label, "moe.dispatch");
    EXPECT_EQ(its.kind, CollectiveKind::kAllToAll);
    EXPECT_EQ(its.op, ReduceOp::kMax);
    EXPECT_EQ(its.peer, GroupRank{2});
    EXPECT_EQ(its.tag, -7);
    EXPECT_EQ(its.input.dtype, DType::kBF16);
    EXPECT_EQ(its.input.count, 3);
    EXPECT_EQ(its.output.dtype, DType::kI64);
    EXPECT_EQ(its.output.count, 5);
    EXPECT_TRUE(
        std::equal(its.input_splits.begin(), its.input_splits.end(), inputs.begin(), inputs.end()));
    EXPECT_TRUE(std::equal(
        its.output_splits.begin(), its.output_splits.end(), outputs.begin(), outputs.end()));
  }
}

TEST(Protocol, AGroupAndAGoKeepTheirNumbers) {
  const Group group{.kind = GroupKind::kTpDp, .index = 3, .ranks = {Rank{2}, Rank{5}}};
  const std::string connect = payload_of(frame_of(FromRank(Connect{.group = group})));
  EXPECT_EQ(std::get<Connect>(rank_message(connect)).group, group);
  const Go go{.communicator = 1, .sequence = 1'000'000'000'000, .message = -1, .place = 7};
  const FromCoordinator message = coordinator_message(payload_of(frame_of(FromCoordinator(go))));
  EXPECT_EQ(std::get<Go>(message), go);
  EXPECT_EQ(std::get<Go>(message).place, 7U);
}

TEST(Protocol, AnOrderKeepsAllThatARankIsTold) {
  const TrialOrder order{.number = 7, .rank = Rank{2}, .world = 4, .lineup = 5, .request = "x"};
  const std::string payload =
      payload_of(frame_of(FromCoordinator(Order{.order = order, .heartbeat_ms = 250})));
  const FromCoordinator message = coordinator_message(payload);
  const auto& its = std::get<Order>(message);
  EXPECT_EQ(its.order.number, 7U);
  EXPECT_EQ(its.order.rank, Rank{2});
  EXPECT_EQ(its.order.world, 4);
  EXPECT_EQ(its.order.lineup, 5U);
  EXPECT_EQ(its.order.request, "x");
  EXPECT_EQ(its.heartbeat_ms, 250);
}

TEST(Protocol, EveryShortenedMessageIsRefused) {
  const std::string payload = payload_of(frame_of(FromRank(
      Submit{.communicator = 0, .calls = {CollectiveCall{.label = "a.b"}}, .splits = {}})));
  for (std::size_t size = 0; size < payload.size(); ++size) {
    const std::string shortened = payload.substr(0, size);
    EXPECT_THROW(rank_message(shortened), ProtocolError) << size;
  }
  EXPECT_NO_THROW(rank_message(payload));
}

TEST(Protocol, AMessageThatGoesOnAfterItsEndIsRefused) {
  EXPECT_THROW(rank_message(payload_of(frame_of(FromRank(Heartbeat{}))) + "x"), ProtocolError);
}

TEST(Protocol, AnUnknownKindOfMessageIsRefused) {
  std::string payload = payload_of(frame_of(FromRank(Heartbeat{})));
  payload[0] = 100;
  EXPECT_THROW(rank_message(payload), ProtocolError);
}

TEST(Protocol, AnUnknownKindOfCallIsRefused) {
  std::string payload = payload_of(frame_of(
      FromRank(Submit{.communicator = 0, .calls = {CollectiveCall{.label = ""}}, .splits = {}})));
  // After the message's kind, the communicator, the number of calls and the label's length.
  payload[4 * 8] = 8;
  EXPECT_THROW(rank_message(payload), ProtocolError);
}

TEST(Protocol, AListLongerThanItsMessageIsRefusedBeforeItIsAllocated) {
  std::string payload = payload_of(
      frame_of(FromRank(Connect{.group = {.kind = GroupKind::kWorld, .index = 0, .ranks = {}}})));
  payload[payload.size() - 2] = 0x7f;  // of the number of ranks
  EXPECT_THROW(rank_message(payload), ProtocolError);
}

TEST(Protocol, TheHelloOfAnotherVersionIsReadAsFarAsItsVersion) {
  Hello hello{.seat = 3, .generation = 9};
  hello.version = kProtocolVersion + 1;
  const std::string payload = payload_of(frame_of(FromRank(hello))) + "more";
  const FromRank message = rank_message(payload);
  EXPECT_EQ(std::get<Hello>(message).version, kProtocolVersion + 1);
}

TEST(FrameCutter, GivesWholeFramesOutOfBytesThatComeOneByOne) {
  const std::string stream = frame_of(FromRank(SetValue{.key = "key", .value = "value"})) +
                             frame_of(FromRank(Heartbeat{}));
  FrameCutter cutter;
  std::vector<FromRank> messages;
  for (const char byte : stream) {
    cutter.add({&byte, 1});
    while (const auto payload = cutter.next()) messages.push_back(rank_message(*payload));
  }
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(std::get<SetValue>(messages[0]).value, "value");
  EXPECT_TRUE(std::holds_alternative<Heartbeat>(messages[1]));
}

TEST(FrameCutter, RefusesAFrameThatIsTooLargeByItsHeader) {
  FrameCutter cutter;
  cutter.set_max_payload(kMaxHelloPayload);
  cutter.add("GET / HTTP/1.1\r\n");
  EXPECT_THROW(cutter.next(), ProtocolError);
}

}  // namespace
}  // namespace lockstep::backends
