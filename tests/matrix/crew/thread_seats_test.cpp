// One process whose threads serve seats: what its lines say, and how seats end.
#include "matrix/crew/thread_seats.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>

#include "matrix/crew/host_process.h"
#include "tests/matrix/crew/crew_trials.h"

namespace lockstep::test {
namespace {

using backends::SeatId;
using matrix::EndNotice;

constexpr SeatId kFirst{.seat = 0, .generation = 7};
constexpr SeatId kSecond{.seat = 12, .generation = 8};

TEST(HostLines, ComeBackFromTheirText) {
  EXPECT_EQ(matrix::to_line(kSecond), "12 8\n");
  EXPECT_EQ(matrix::seat_from_line("12 8"), kSecond);
  for (const char* text : {"", "12", "12 ", "12 x", "12 8 ", "x 8", "12 -1"}) {
    EXPECT_FALSE(matrix::seat_from_line(text).has_value()) << text;
  }
  const std::string line = matrix::to_line(EndNotice{.id = kSecond, .why = "out of\nmemory"});
  EXPECT_EQ(line, "12 8 out of memory\n");
  const std::optional<EndNotice> notice = matrix::notice_from_line("12 8 out of memory");
  ASSERT_TRUE(notice.has_value());
  EXPECT_EQ(notice->id, kSecond);
  EXPECT_EQ(notice->why, "out of memory");
  EXPECT_EQ(matrix::notice_from_line("12 8 ").value_or(EndNotice{.id = {}, .why = "none"}).why, "");
  EXPECT_FALSE(matrix::notice_from_line("12 8").has_value());
}

class ThreadSeats : public testing::Test {
 protected:
  ThreadSeats() { std::signal(SIGPIPE, SIG_IGN); }

  matrix::ThreadSeats seats_of(const std::string& fault) {
    return matrix::ThreadSeats({faulty_rank(),
                                fault,
                                "threads",
                                "--coordinator",
                                "127.0.0.1:" + std::to_string(coordinator.port()),
                                "--timeout",
                                "8"});
  }
  bool all_come(const std::vector<SeatId>& ids) {
    return coordinator.wait_for_seats(ids, std::chrono::seconds{20}, {});
  }
  // Asked until there is one.
  std::string early_end(matrix::ThreadSeats& seats, const std::vector<SeatId>& ids) {
    std::optional<std::string> ended;
    coordinator.wait_for_seats(
        {SeatId{.seat = 99, .generation = 99}}, std::chrono::seconds{20}, [&] {
          ended = seats.early_end(ids);
          return ended.has_value();
        });
    return ended.value_or("none has ended");
  }

  backends::Coordinator coordinator{{}};
};

TEST_F(ThreadSeats, AreServedByOneProcessUntilOneOfThemIsEnded) {
  matrix::ThreadSeats seats = seats_of("none");
  seats.start(kFirst);
  seats.start(kSecond);
  ASSERT_TRUE(all_come({kFirst, kSecond}));
  EXPECT_EQ(all_children().size(), 1U);
  EXPECT_FALSE(seats.early_end({kFirst, kSecond}).has_value());
  EXPECT_EQ(seats.end(kSecond), "killed by signal 9 (Killed)");
  EXPECT_EQ(seats.end(kFirst), "killed by signal 9 (Killed)");
  EXPECT_TRUE(all_children().empty());

  const SeatId next{.seat = 0, .generation = 9};
  seats.start(next);
  EXPECT_TRUE(all_come({next})) << "another process";
  EXPECT_EQ(all_children().size(), 1U);
}

TEST_F(ThreadSeats, TellThatAProcessEndedByItself) {
  matrix::ThreadSeats seats({"/bin/false"});
  seats.start(kFirst);
  seats.start(kSecond);
  EXPECT_EQ(early_end(seats, {kSecond}), "the process of rank 12 has ended: exited with code 1");
  EXPECT_EQ(seats.end(kFirst), "exited with code 1");
}

TEST_F(ThreadSeats, TellWhyAThreadEndedAndKeepTheOthersUntilTheLast) {
  matrix::ThreadSeats seats = seats_of("unable");
  seats.start(kFirst);
  EXPECT_EQ(early_end(seats, {kSecond, kFirst}),
            "rank 0 has ended: its thread has ended: nothing to work on");
  seats.start(kSecond);
  EXPECT_EQ(seats.end(kFirst), "its thread has ended: nothing to work on");
  EXPECT_EQ(all_children().size(), 1U);
  EXPECT_EQ(early_end(seats, {kSecond}),
            "rank 12 has ended: its thread has ended: nothing to work on");
  EXPECT_EQ(seats.end(kSecond), "its thread has ended: nothing to work on");
  EXPECT_TRUE(all_children().empty()) << "it serves nothing any more";
}

TEST_F(ThreadSeats, WereNeverStartedWhereNobodyStartedThem) {
  EXPECT_EQ(seats_of("none").end(kFirst), "was never started");
}

TEST_F(ThreadSeats, EndWithWhoeverStartedThem) {
  {
    matrix::ThreadSeats seats = seats_of("none");
    seats.start(kFirst);
    ASSERT_TRUE(all_come({kFirst}));
  }
  EXPECT_TRUE(all_children().empty());
}

}  // namespace
}  // namespace lockstep::test
