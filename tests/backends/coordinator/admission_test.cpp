// Who may come: one process a seat, of this version, and nobody who speaks another language.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>

#include "backends/coordinator/greeting.h"
#include "backends/coordinator/socket.h"
#include "tests/backends/coordinator/worlds.h"

namespace lockstep::test {
namespace {

using backends::Coordinator;
using backends::CoordinatorClient;
using backends::frame_of;
using backends::FromRank;
using backends::Hello;
using backends::SeatId;
using backends::Socket;

constexpr std::chrono::seconds kPatience{20};

backends::SocketTime soon() { return std::chrono::steady_clock::now() + kPatience; }

const LineProgram kReturns = [](RankLine&) { return ""; };

// What a call throws, in words; empty where it does not.
template <class Error>
std::string thrown_by(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// What the coordinator says, until it closes the line, to one that says `bytes`.
std::string answer_to(const World& world, const std::string& bytes) {
  Socket socket = backends::connect_to(world.options(0).address, soon());
  socket.send(bytes, soon());
  std::string answer;
  std::array<char, 1024> room;
  try {
    while (true) {
      const std::string_view read = socket.receive(room, soon());
      if (read.empty()) return "it has not closed the line";
      answer += read;
    }
  } catch (const backends::SocketError&) {
    return answer;
  }
}

TEST(Admission, ForeignBytesAreCutOffAndOthersServed) {
  World world(1);
  std::vector<std::string> answers(4, "none");
  world.start([&] {
    answers[0] = answer_to(world, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    answers[1] = answer_to(world, std::string(4, '\0'));
    answers[2] = answer_to(world, frame_of(FromRank(backends::Heartbeat{})));
    answers[3] = answer_to(world, frame_of(FromRank(Hello{.magic = 7})));
    world.serve(0, 0, kReturns);
  });
  EXPECT_EQ(messages(world.run()), "");
  EXPECT_EQ(answers, (std::vector<std::string>(4, "")));
}

TEST(Admission, AnotherVersionIsToldSo) {
  World world(1);
  std::string answer;
  world.start([&] {
    answer = answer_to(world, frame_of(FromRank(Hello{.version = 99})));
    world.serve(0, 0, kReturns);
  });
  EXPECT_EQ(messages(world.run()), "");
  EXPECT_NE(answer.find("it speaks version 99 of the protocol, this coordinator 3"),
            std::string::npos)
      << answer;
}

TEST(Admission, ASecondProcessForOneSeatIsRefusedAndTheFirstServesOn) {
  World world(1);
  world.seat(0, 0, kReturns);
  EXPECT_EQ(messages(world.run()), "");
  std::string refusal;
  std::atomic<bool> is_refused = false;
  world.start([&] {
    refusal =
        thrown_by<backends::ConnectionLost>([&] { CoordinatorClient client(world.options(0)); });
    is_refused = true;
  });
  world.coordinator().wait_for_seats({{.seat = 9}}, kPatience, [&] { return is_refused.load(); });
  EXPECT_NE(refusal.find("refuses this process: seat 0 is taken in generation 0"),
            std::string::npos)
      << refusal;
  EXPECT_EQ(messages(world.run()), "");
}

TEST(Admission, ALaterGenerationTakesTheSeatOfOneThatIsGone) {
  World world(2);
  const LineProgram breaks = [](RankLine& line) -> std::string {
    if (line.rank == Rank{1}) throw LineBreaks{};
    return "";
  };
  EXPECT_NE(messages(world.run_once(breaks)), "");
  for (const int seat : {0, 1}) world.seat(seat, 1, kReturns);
  EXPECT_EQ(messages(world.run(1)), "");
}

TEST(Admission, SeatsThatDoNotComeAreWaitedForUntilPatienceOrTheAskerGivesUp) {
  World world(1);
  const std::vector<SeatId> seats = {{.seat = 0, .generation = 0}};
  EXPECT_FALSE(world.coordinator().wait_for_seats(seats, std::chrono::milliseconds(10), {}));
  int num_asked = 0;
  EXPECT_FALSE(
      world.coordinator().wait_for_seats(seats, kPatience, [&] { return ++num_asked == 2; }));
  EXPECT_EQ(num_asked, 2);
}

TEST(Admission, OneThatWasToldThatItsTrialIsOverIsNotHereAnyMore) {
  World world(2);
  const auto outcome = world.run_once([](RankLine& line) -> std::string {
    if (line.rank == Rank{1}) return "";
    const int tp = line.client.connect(line.group(GroupKind::kTp));
    line.submit(tp, all_reduce("test.sum"));
    line.wait(tp, 1);
    return "";
  });
  EXPECT_NE(messages(outcome), "");
  Coordinator& coordinator = world.coordinator();
  EXPECT_FALSE(coordinator.wait_for_seats({{.seat = 0}}, std::chrono::milliseconds(10), {}));
  EXPECT_TRUE(coordinator.wait_for_seats({{.seat = 1}}, std::chrono::milliseconds(10), {}));
}

TEST(Admission, GoodbyeReachesThoseThatAreHereAndThoseThatComeLater) {
  Coordinator coordinator({});
  int num_told = 0;
  std::thread thread([&] {
    for (const int seat : {0, 1}) {  // the second comes when the first has been told
      CoordinatorClient client(
          {.address = {.host = "localhost", .port = coordinator.port()}, .seat = seat});
      EXPECT_EQ(client.local_address(), "127.0.0.1");
      if (!client.next_trial()) ++num_told;
    }
  });
  EXPECT_TRUE(coordinator.wait_for_seats({{.seat = 0}}, kPatience, {}));
  coordinator.say_goodbye(2, kPatience);
  thread.join();
  EXPECT_EQ(num_told, 2);
}

TEST(Admission, ACoordinatorThatGoesWithoutAWordIsTheEndOfTrials) {
  auto coordinator = std::make_unique<Coordinator>(backends::CoordinatorOptions{});
  const int port = coordinator->port();
  bool has_order = true;
  std::thread thread([&] {
    CoordinatorClient client({.address = {.host = "127.0.0.1", .port = port}});
    has_order = client.next_trial().has_value();
  });
  coordinator->wait_for_seats({{.seat = 0}}, kPatience, {});
  coordinator.reset();
  thread.join();
  EXPECT_FALSE(has_order);
}

TEST(Admission, AListeningSocketMayBeHandedOnToALaterCoordinator) {
  const int listening = backends::listen_on("127.0.0.1", 0);
  const int kept = ::dup(listening);
  const int port = backends::local_port(listening);
  for (const int descriptor : {listening, kept}) {
    Coordinator coordinator({.listening = descriptor});
    EXPECT_EQ(coordinator.port(), port);
    std::thread thread([&] {
      CoordinatorClient client({.address = {.host = "127.0.0.1", .port = port}});
      EXPECT_FALSE(client.next_trial().has_value());
    });
    EXPECT_TRUE(coordinator.wait_for_seats({{.seat = 0}}, kPatience, {}));
    coordinator.say_goodbye(1, kPatience);
    thread.join();
  }
}

TEST(Admission, AnAddressThatCannotBeListenedOnIsNamedWithTheReason) {
  const Coordinator coordinator({});
  const std::string port = std::to_string(coordinator.port());
  EXPECT_EQ(thrown_by<backends::ListenError>(
                [&] { backends::listen_on("127.0.0.1", coordinator.port()); }),
            "cannot listen on 127.0.0.1:" + port +
                ": Address already in use; an address of this host and a port that is free would "
                "do, 0 takes any");
  EXPECT_NE(thrown_by<backends::ListenError>([] { backends::listen_on("127.0.0.1", 65536); }), "");
  EXPECT_NE(thrown_by<backends::ListenError>([] { backends::listen_on("no such host", 0); }), "");
}

TEST(Admission, ACoordinatorThatCannotBeReachedIsNamedWithTheReason) {
  const int port = [] {
    const int listening = backends::listen_on("127.0.0.1", 0);
    const int its = backends::local_port(listening);
    ::close(listening);
    return its;
  }();
  CoordinatorClient::Options options{.address = {.host = "127.0.0.1", .port = port}};
  options.patience = std::chrono::milliseconds(60);
  EXPECT_EQ(thrown_by<backends::ConnectionLost>([&] { CoordinatorClient client(options); }),
            "no coordinator could be reached at 127.0.0.1:" + std::to_string(port) +
                " within 60 ms: Connection refused; one must listen there, on an address that this "
                "host can reach");
}

}  // namespace
}  // namespace lockstep::test
