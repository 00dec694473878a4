// The host enqueues and goes on: between a program's calls and kernels streams alone keep the
// order.
#include <gtest/gtest.h>

#include <vector>

#include "backends/cuda/moves.h"
#include "tests/support/device_memory.h"
#include "tests/support/nccl_ranks.h"

namespace lockstep::test {
namespace {

using backends::TrialOutcome;

// to[i] = a[i] + b[i], by a launch on the stream.
void add(TestRank& r, const Tensor& a, const Tensor& b, const Tensor& to, Stream stream = {}) {
  const Buffer buffers[] = {a.buffer(), b.buffer(), to.buffer()};
  r.device.launch(
      {.label = "test.add",
       .reads = {buffers, 2},
       .writes = {buffers + 2, 1},
       .stream = stream,
       .body = [&](const LaunchTarget& target) {
         const std::byte* inputs[] = {buffers[0].bytes(), buffers[1].bytes()};
         std::byte* outputs[] = {buffers[2].bytes()};
         backends::reduce_on_gpu(
             {.dtype = to.dtype}, inputs, 0, to.num_elements(), outputs, target.native_stream);
       }});
}

void wait(TestRank& r, const Ticket& ticket, Stream stream = {}) {
  wait_for(r.device, ticket, "test.wait", stream);
}

// Where the stream stands.
Ticket point_on(TestRank& r, Stream stream) {
  return r.device.launch(
      {.label = "test.point", .stream = stream, .body = [](const LaunchTarget&) {}});
}

// Each call needs what the one before has computed; nothing is read before the end.
TEST(NcclStreams, KeepAChainOfCallsAndKernelsInOrder) {
  constexpr std::int64_t kCount = 100000;
  const TrialOutcome outcome = run_nccl_ranks(2, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor ones = r.tensor(std::vector<double>(kCount, 1.0));
    const Tensor x = r.tensor(std::vector<double>(kCount, 1.0));
    double expected = 1.0;
    for (int round = 0; round < 40; ++round) {
      const CollectiveCall sum{.label = "test.sum", .input = x.buffer(), .output = x.buffer()};
      wait(r, tp->submit({&sum, 1}));
      add(r, x, ones, x);
      expected = 2 * expected + 1;
    }
    const std::vector<double> values = values_of(r.device, x);
    EXPECT_EQ(values.front(), expected);
    EXPECT_EQ(values.back(), expected);
  });
  EXPECT_TRUE(outcome.findings.empty()) << to_text(outcome);
}

// A tensor goes as soon as its call was waited for, while the GPU may not have begun it.
TEST(NcclStreams, KeepMemoryThatIsFreedAfterTheWaitUntilTheCallIsDone) {
  constexpr std::int64_t kCount = 1 << 20;
  const TrialOutcome outcome = run_nccl_ranks(2, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor total = r.tensor(std::vector<double>(kCount, 0.0));
    const Tensor ones = r.tensor(std::vector<double>(kCount, 1.0));
    for (int round = 0; round < 20; ++round) {
      const Tensor x = r.empty(kCount);
      const CollectiveCall sum{.label = "test.sum", .input = ones.buffer(), .output = x.buffer()};
      wait(r, tp->submit({&sum, 1}));
      add(r, total, x, total);
    }
    const std::vector<double> values = values_of(r.device, total);
    EXPECT_EQ(values, std::vector<double>(kCount, 40.0));
  });
  EXPECT_TRUE(outcome.findings.empty()) << to_text(outcome);
}

// A call follows the stream that it names, and the stream that waits follows the call.
TEST(NcclStreams, OfACallAndOfItsWaitMayBeTwo) {
  constexpr std::int64_t kCount = 1 << 20;
  constexpr Stream kSide{1};
  const TrialOutcome outcome = run_nccl_ranks(2, [&](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    const Tensor ones = r.tensor(std::vector<double>(kCount, 1.0));
    for (int round = 0; round < 10; ++round) {
      const Tensor x = r.empty(kCount);
      const Tensor y = r.empty(kCount);
      wait(r, point_on(r, {}), kSide);
      add(r, ones, ones, x, kSide);
      const CollectiveCall sum{
          .label = "test.sum", .input = x.buffer(), .output = y.buffer(), .stream = kSide};
      const Ticket ticket = tp->submit({&sum, 1});
      wait(r, ticket, kSide);
      add(r, y, ones, x, kSide);
      wait(r, point_on(r, kSide));
      EXPECT_EQ(values_of(r.device, x), std::vector<double>(kCount, 5.0));
    }
  });
  EXPECT_TRUE(outcome.findings.empty()) << to_text(outcome);
}

TEST(NcclStreams, LeaveManySubmitsInFlightAndWaitForThemInAnyOrder) {
  constexpr int kNumSubmits = 50;
  const TrialOutcome outcome = run_nccl_ranks(2, [](TestRank& r) {
    const auto tp = r.connect(GroupKind::kTp);
    std::vector<Tensor> tensors;
    std::vector<CollectiveCall> calls(kNumSubmits);
    std::vector<Ticket> tickets;
    for (int i = 0; i < kNumSubmits; ++i) {
      const auto index = static_cast<std::size_t>(i);
      tensors.push_back(r.tensor({1.0 * i}));
      calls[index] = {
          .label = "test.sum", .input = tensors[index].buffer(), .output = tensors[index].buffer()};
      tickets.push_back(tp->submit({&calls[index], 1}));
    }
    for (int i = 0; i < kNumSubmits; ++i) {
      const auto index = static_cast<std::size_t>((i * 7 + r.rank.value) % kNumSubmits);
      wait(r, tickets[index]);
      EXPECT_EQ(values_of(r.device, tensors[index])[0], 2.0 * static_cast<double>(index));
    }
  });
  EXPECT_TRUE(outcome.findings.empty()) << to_text(outcome);
  EXPECT_EQ(outcome.num_matched, 2 * kNumSubmits);
}

}  // namespace
}  // namespace lockstep::test
