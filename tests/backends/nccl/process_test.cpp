// Rank threads of a process meet for a call: the last to come enqueues all parts, nobody goes on
// before, and whoever leaves takes its part along. Without a GPU: what enqueues is the tests'.
#include "backends/nccl/process.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/errors.h"

namespace lockstep::test {
namespace {

using backends::NcclCallId;
using backends::NcclError;
using backends::NcclPart;
using backends::NcclProcess;
using Parts = std::span<const NcclPart>;

constexpr std::uint64_t kTrial = 3;

std::vector<Rank> ranks(const std::vector<int>& values) {
  std::vector<Rank> all;
  for (const int value : values) all.push_back({value});
  return all;
}

NcclCallId call_id(std::uint64_t place, std::uint64_t trial = kTrial) {
  return {.trial = trial, .place = place};
}

void no_check() {}

class NcclMeeting : public testing::Test {
 protected:
  // A part is told by its rank's stream.
  void* stream_of(int rank) { return &streams[static_cast<std::size_t>(rank)]; }
  std::set<int> ranks_of(Parts parts) {
    std::set<int> found;
    for (const NcclPart& part : parts) {
      found.insert(static_cast<int>(static_cast<const char*>(part.stream) - streams));
    }
    return found;
  }
  void join(const std::vector<int>& values, std::uint64_t trial = kTrial) {
    for (const int value : values) process.join(trial, {value});
  }
  void come(int rank,
            const NcclCallId& call,
            const std::vector<int>& members,
            const std::function<void()>& check = no_check) {
    process.enqueue(call, ranks(members), {.stream = stream_of(rank)}, check);
  }

  char streams[8] = {};
  std::function<void(Parts)> on_enqueue = [](Parts) {};
  std::atomic<int> num_enqueued = 0;
  NcclProcess::Impl process{[this](Parts parts) {
    on_enqueue(parts);
    ++num_enqueued;
  }};
};

// Comes on a thread of its own, and is there once `waits` says so: only one that waits looks
// around.
struct Waiting {
  Waiting(const std::function<void(const std::function<void()>&)>& come,
          const std::function<void()>& check = no_check)
      : thread([this, come, check] {
          bool is_first = true;
          try {
            come([&] {
              ++num_checks;
              if (std::exchange(is_first, false)) waits.count_down();
              check();
            });
          } catch (const RankCancelled&) {
            was_cancelled = true;
          } catch (const NcclError& error) {
            failure = error.what();
          }
          has_returned = true;
        }) {
    waits.wait();
  }
  void wait_for_checks(int num) {
    for (const int until = num_checks + num; num_checks < until;) std::this_thread::yield();
  }

  std::latch waits{1};
  std::atomic<int> num_checks = 0;
  std::atomic<bool> has_returned = false;
  bool was_cancelled = false;  // once joined
  std::optional<std::string> failure;
  std::jthread thread;
};

TEST_F(NcclMeeting, EnqueuesAllPartsInOneGoByTheLastToComeWhicheverThatIs) {
  join({0, 1, 2});
  for (int last = 0; last < 3; ++last) {
    std::vector<std::unique_ptr<Waiting>> others;
    const NcclCallId call = call_id(static_cast<std::uint64_t>(last) + 1);
    on_enqueue = [&, here = std::this_thread::get_id()](Parts parts) {
      EXPECT_EQ(std::this_thread::get_id(), here);
      EXPECT_EQ(parts.size(), 3U);
      EXPECT_EQ(ranks_of(parts), (std::set<int>{0, 1, 2}));
    };
    for (int rank = 0; rank < 3; ++rank) {
      if (rank == last) continue;
      others.push_back(std::make_unique<Waiting>([&, rank](const auto& check) {
        come(rank, call, {0, 1, 2}, check);
      }));
    }
    EXPECT_EQ(num_enqueued, last) << "not before the last has come";
    come(last, call, {0, 1, 2});
    EXPECT_EQ(num_enqueued, last + 1);
  }
  EXPECT_EQ(process.num_meetings(), 0U);
}

TEST_F(NcclMeeting, LetsNobodyGoOnBeforeAllIsEnqueued) {
  join({0, 1});
  Waiting first([&](const auto& check) { come(0, call_id(1), {0, 1}, check); });
  on_enqueue = [&](Parts) {
    first.wait_for_checks(100);  // also where it sleeps between looks
    EXPECT_FALSE(first.has_returned);
  };
  come(1, call_id(1), {0, 1});
  first.thread.join();
  EXPECT_EQ(num_enqueued, 1);
}

// Two processes that enqueued two calls in different orders could each have one behind what waits
// for the other.
TEST_F(NcclMeeting, EnqueuesCallsInTheOrderOfTheirPlacesWhicheverIsCompleteFirst) {
  join({0, 1, 2, 3});
  std::vector<std::set<int>> enqueued;
  on_enqueue = [&](Parts parts) { enqueued.push_back(ranks_of(parts)); };
  Waiting third([&](const auto& check) { come(2, call_id(2), {2, 3}, check); });
  Waiting fourth([&](const auto& check) { come(3, call_id(2), {2, 3}, check); });
  Waiting first([&](const auto& check) { come(0, call_id(1), {0, 1}, check); });
  fourth.wait_for_checks(100);
  EXPECT_EQ(num_enqueued, 0) << "complete, but not its turn";
  come(1, call_id(1), {0, 1});
  third.thread.join();
  fourth.thread.join();
  first.thread.join();
  EXPECT_EQ(enqueued, (std::vector<std::set<int>>{{0, 1}, {2, 3}}));
}

TEST_F(NcclMeeting, DoesNotWaitForMembersThatOtherProcessesServe) {
  join({0, 2});
  Waiting first([&](const auto& check) { come(0, call_id(1), {0, 1, 2, 3}, check); });
  come(2, call_id(1), {0, 1, 2, 3});
  EXPECT_EQ(num_enqueued, 1);
  come(2, call_id(2), {1, 2});
  EXPECT_EQ(num_enqueued, 2);
}

TEST_F(NcclMeeting, OfOneThatGivesUpFreesItAndIsNeverEnqueued) {
  join({0, 1, 2});
  std::atomic<bool> is_over = false;
  const auto check = [&] {
    if (is_over) throw RankCancelled{};
  };
  EXPECT_THROW(come(0, call_id(1), {0, 1, 2}, [] { throw RankCancelled{}; }), RankCancelled);
  Waiting second([&](const auto& looks) { come(1, call_id(1), {0, 1, 2}, looks); }, check);
  Waiting last([&](const auto& looks) { come(2, call_id(1), {0, 1, 2}, looks); }, check);
  last.wait_for_checks(100);
  EXPECT_FALSE(second.has_returned);
  is_over = true;
  second.thread.join();
  last.thread.join();
  EXPECT_TRUE(second.was_cancelled);
  EXPECT_TRUE(last.was_cancelled);
  EXPECT_EQ(num_enqueued, 0);
}

// Its part is in use, as are its communicators.
TEST_F(NcclMeeting, KeepsOneThatGivesUpUntilItsPartIsEnqueued) {
  join({0, 1});
  std::atomic<bool> gives_up = false;
  std::latch has_given_up{1};
  Waiting first(
      [&](const auto& check) {
        come(0, call_id(1), {0, 1}, check);
      },
      [&] {
        if (!gives_up) return;
        has_given_up.count_down();
        throw RankCancelled{};
      });
  on_enqueue = [&](Parts parts) {
    gives_up = true;
    has_given_up.wait();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    EXPECT_FALSE(first.has_returned);
    EXPECT_EQ(parts.size(), 2U);
  };
  come(1, call_id(1), {0, 1});
  first.thread.join();
  EXPECT_TRUE(first.was_cancelled);
}

TEST_F(NcclMeeting, TellsAFailureToAllAndGoesOnWithTheNextCall) {
  join({0, 1, 2});
  std::uint64_t place = 0;
  for (const std::string text : {"enqueueing: NCCL: out of order", ""}) {
    ++place;
    on_enqueue = [&](Parts) { throw std::runtime_error(text); };
    Waiting first([&](const auto& check) { come(0, call_id(place), {0, 1, 2}, check); });
    Waiting second([&](const auto& check) { come(1, call_id(place), {0, 1, 2}, check); });
    EXPECT_THROW(come(2, call_id(place), {0, 1, 2}), NcclError);
    first.thread.join();
    second.thread.join();
    EXPECT_EQ(first.failure, text);
    EXPECT_EQ(second.failure, text);
  }
  EXPECT_EQ(process.num_meetings(), 0U);
  on_enqueue = [](Parts) {};
  Waiting first([&](const auto& check) { come(0, call_id(3), {0, 1}, check); });
  come(1, call_id(3), {0, 1});
  EXPECT_EQ(num_enqueued, 1);
}

// Without its part NCCL would never end the call. What frees the others is the trial's end.
TEST_F(NcclMeeting, OfACallThatARankHasLeftIsNeverEnqueued) {
  join({0, 1, 2});
  process.leave(kTrial, {1});
  std::atomic<bool> is_over = false;
  const auto check = [&] {
    if (is_over) throw RankCancelled{};
  };
  Waiting first([&](const auto& looks) { come(0, call_id(1), {0, 1, 2}, looks); }, check);
  Waiting last([&](const auto& looks) { come(2, call_id(1), {0, 1, 2}, looks); }, check);
  last.wait_for_checks(100);
  is_over = true;
  first.thread.join();
  last.thread.join();
  EXPECT_TRUE(first.was_cancelled);
  EXPECT_TRUE(last.was_cancelled);
  EXPECT_EQ(num_enqueued, 0);
}

TEST_F(NcclMeeting, ForgetsTrialsWithTheNextOne) {
  for (std::uint64_t trial = 1; trial <= 5; ++trial) {
    join({0, 1}, trial);
    EXPECT_EQ(process.num_meetings(), 0U);
    Waiting first([&](const auto& check) { come(0, call_id(1, trial), {0, 1}, check); });
    come(1, call_id(1, trial), {0, 1});
    EXPECT_EQ(num_enqueued, static_cast<int>(trial));
    const auto give_up = [] { throw RankCancelled{}; };
    EXPECT_THROW(come(0, call_id(2, trial), {0, 1}, give_up), RankCancelled);
    EXPECT_EQ(process.num_meetings(), 1U);
    process.leave(trial, {0});
    process.leave(trial, {1});
  }
}

}  // namespace
}  // namespace lockstep::test
