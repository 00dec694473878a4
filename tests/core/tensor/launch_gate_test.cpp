// A gate that many pass and one closes.
#include "core/tensor/cuda/launch_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace lockstep::test {
namespace {

TEST(LaunchGate, LetsManyPassAtTheSameTime) {
  LaunchGate gate;
  const LaunchGate::Pass first(gate);
  std::jthread([&] { const LaunchGate::Pass second(gate); }).join();
}

TEST(LaunchGate, IsClosedOnceAllHaveLeft) {
  LaunchGate gate;
  std::optional<LaunchGate::Pass> inside(std::in_place, gate);
  std::atomic<bool> is_closed = false;
  std::jthread closer([&] {
    const LaunchGate::Closed closed(gate);
    is_closed = true;
  });
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_FALSE(is_closed);
  inside.reset();
  closer.join();
  EXPECT_TRUE(is_closed);
}

TEST(LaunchGate, LetsNobodyPassWhileItIsClosed) {
  LaunchGate gate;
  std::atomic<bool> has_passed = false;
  std::jthread passer;
  {
    const LaunchGate::Closed closed(gate);
    passer = std::jthread([&] {
      const LaunchGate::Pass pass(gate);
      has_passed = true;
    });
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    EXPECT_FALSE(has_passed);
  }
  passer.join();
  EXPECT_TRUE(has_passed);
}

// What is not atomic is changed under the closed gate and read inside.
TEST(LaunchGate, KeepsThoseWhoCloseItApartFromEachOtherAndFromAllWhoPass) {
  constexpr int kRounds = 2000;
  LaunchGate gate;
  int first = 0;
  int second = 0;
  std::atomic<int> num_torn = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        for (int round = 0; round < kRounds; ++round) {
          const LaunchGate::Closed closed(gate);
          ++first;
          std::this_thread::yield();
          ++second;
        }
      });
    }
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int round = 0; round < kRounds; ++round) {
          const LaunchGate::Pass pass(gate);
          if (first != second) ++num_torn;
        }
      });
    }
  }
  EXPECT_EQ(num_torn, 0);
  EXPECT_EQ(first, 2 * kRounds);
  EXPECT_EQ(second, 2 * kRounds);
}

}  // namespace
}  // namespace lockstep::test
