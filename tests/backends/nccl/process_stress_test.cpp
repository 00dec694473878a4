// Many rank threads meet for thousands of calls of random groups, and in some trials one of them
// leaves in the midst: no part is enqueued twice, without the others, or after its rank has gone.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "backends/nccl/process.h"
#include "core/base/errors.h"
#include "core/base/random.h"

namespace lockstep::test {
namespace {

using backends::NcclCallId;
using backends::NcclPart;
using backends::NcclProcess;

constexpr int kNumRanks = 16;

struct PlannedCall {
  NcclCallId id;
  std::vector<Rank> members;  // two at least
};

std::vector<PlannedCall> draw_calls(int num, std::uint64_t trial, std::uint64_t seed) {
  std::uint64_t num_draws = 0;
  std::vector<PlannedCall> calls;
  for (int i = 0; i < num; ++i) {
    PlannedCall call;
    while (call.members.size() < 2) {
      call.members.clear();
      const std::uint64_t chosen = random_bits(seed, trial, num_draws++);
      for (int rank = 0; rank < kNumRanks; ++rank) {
        if ((chosen >> static_cast<unsigned>(rank) & 1U) != 0) call.members.push_back({rank});
      }
    }
    call.id = {.trial = trial, .place = static_cast<std::uint64_t>(i) + 1};
    calls.push_back(call);
  }
  return calls;
}

// What a rank's part refers to, as its communicators: there while it is in a call.
struct RankState {
  std::atomic<std::int64_t> call = -1;  // the number of the call that it is in
};

class NcclMeetings : public testing::Test {
 protected:
  void enqueue(std::span<const NcclPart> parts) {
    const std::int64_t number = static_cast<RankState*>(parts[0].stream)->call;
    for (const NcclPart& part : parts) {
      if (static_cast<RankState*>(part.stream)->call != number) ++num_wrong;
    }
    if (number < 0) ++num_wrong;
    if (latest.exchange(number) >= number) ++num_wrong;  // out of order
    std::this_thread::yield();
    const std::lock_guard guard(mutex);
    sizes[number].push_back(parts.size());
    for (const NcclPart& part : parts) {
      if (static_cast<RankState*>(part.stream)->call != number) ++num_wrong;
    }
  }

  // Until the calls end, the rank throws in place of its part of call `leaves_at`, or is freed.
  void run_rank(int rank, const std::vector<PlannedCall>& calls, std::int64_t leaves_at) {
    RankState& state = states[static_cast<std::size_t>(rank)];
    const std::uint64_t trial = calls.front().id.trial;
    try {
      for (const PlannedCall& call : calls) {
        if (std::find(call.members.begin(), call.members.end(), Rank{rank}) == call.members.end()) {
          continue;
        }
        const auto number = static_cast<std::int64_t>(call.id.place) - 1;
        if (number >= leaves_at) throw RankCancelled{};
        state.call = number;
        process.enqueue(call.id, call.members, {.stream = &state}, [&] {
          if (is_over) throw RankCancelled{};
        });
        state.call = -1;
      }
    } catch (const RankCancelled&) {
      state.call = -1;
      is_over = true;
    }
    process.leave(trial, {rank});
  }

  void run_trial(const std::vector<PlannedCall>& calls, int leaver, std::int64_t leaves_at) {
    constexpr std::int64_t kNever = std::int64_t{1} << 62U;
    is_over = false;
    sizes.clear();
    latest = -1;
    for (int rank = 0; rank < kNumRanks; ++rank) process.join(calls.front().id.trial, {rank});
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < kNumRanks; ++rank) {
      threads.emplace_back([this, &calls, rank, at = rank == leaver ? leaves_at : kNever] {
        run_rank(rank, calls, at);
      });
    }
  }

  std::array<RankState, kNumRanks> states;
  std::atomic<bool> is_over = false;
  std::atomic<int> num_wrong = 0;
  std::atomic<std::int64_t> latest = -1;  // the number of the call enqueued last
  std::mutex mutex;
  std::map<std::int64_t, std::vector<std::size_t>> sizes;  // of parts, by call
  NcclProcess::Impl process{[this](std::span<const NcclPart> parts) { enqueue(parts); }};
};

TEST_F(NcclMeetings, OfThousandsOfCallsAreEachEnqueuedOnceWithAllParts) {
  const std::vector<PlannedCall> calls = draw_calls(2000, 1, 17);
  run_trial(calls, -1, 0);
  EXPECT_EQ(num_wrong, 0);
  ASSERT_EQ(sizes.size(), calls.size());
  for (const PlannedCall& call : calls) {
    EXPECT_EQ(sizes[static_cast<std::int64_t>(call.id.place) - 1],
              std::vector<std::size_t>{call.members.size()});
  }
  EXPECT_EQ(process.num_meetings(), 0U);
}

TEST_F(NcclMeetings, ThatARankLeavesFreeTheOthersAndUseNoPartOfWhoHasGone) {
  constexpr int kNumCalls = 60;
  for (unsigned trial = 1; trial <= 60; ++trial) {
    const std::vector<PlannedCall> calls = draw_calls(kNumCalls, trial, trial);
    const int leaver = static_cast<int>(trial) % kNumRanks;
    const std::int64_t leaves_at = trial % 40;
    run_trial(calls, leaver, leaves_at);
    ASSERT_EQ(num_wrong, 0) << "trial " << trial;
    for (const auto& [number, found] : sizes) {
      const PlannedCall& call = calls[static_cast<std::size_t>(number)];
      ASSERT_EQ(found, std::vector<std::size_t>{call.members.size()}) << "call " << number;
      const bool is_member =
          std::find(call.members.begin(), call.members.end(), Rank{leaver}) != call.members.end();
      ASSERT_FALSE(is_member && number >= leaves_at) << "call " << number;
    }
    EXPECT_LE(process.num_meetings(), static_cast<std::size_t>(kNumRanks));
  }
}

}  // namespace
}  // namespace lockstep::test
