// The CPU device: poisoned memory, launches done at once, waits passed to the ticket's source.
#include "core/tensor/cpu_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/tensor/storage.h"
#include "core/tensor/tensor.h"
#include "tests/support/recording_device.h"

namespace lockstep {
namespace {

TEST(CpuDevice, NewMemoryReadsAsNaN) {
  CpuDevice device;
  const Tensor tensor = allocate_tensor(device, DType::kF64, {5}, "test");
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(std::isnan(tensor.data<double>()[i]));
  const Tensor single = allocate_tensor(device, DType::kF32, {5}, "test");
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(std::isnan(single.data<float>()[i]));
}

TEST(CpuDevice, NewIntegersAreHugeNegativesThatNoRangeCheckPasses) {
  CpuDevice device;
  const Tensor tensor = allocate_tensor(device, DType::kI64, {5}, "test");
  for (int i = 0; i < 5; ++i) EXPECT_LT(tensor.data<std::int64_t>()[i], -1'000'000'000);
}

TEST(CpuDevice, FreedMemoryReadsAsNaNAndIsGivenOutPoisonedAgain) {
  CpuDevice device;
  const double* freed = nullptr;
  {
    const Tensor tensor = allocate_tensor(device, DType::kF64, {100}, "test");
    freed = tensor.data<double>();
    std::fill_n(tensor.data<double>(), 100, 1.0);
  }
  EXPECT_TRUE(std::isnan(freed[99]));
  const Tensor larger = allocate_tensor(device, DType::kF64, {120}, "test");
  EXPECT_EQ(larger.data<double>(), freed) << "blocks of one size class are kept";
  for (int i = 0; i < 120; ++i) EXPECT_TRUE(std::isnan(larger.data<double>()[i]));
}

TEST(CpuDevice, KernelsAndHostReadsRunAtOnce) {
  CpuDevice device;
  int runs = 0;
  for (const LaunchKind kind : {LaunchKind::kKernel, LaunchKind::kHostRead}) {
    device.launch({.label = "test", .kind = kind, .body = [&](const LaunchTarget&) { ++runs; }});
  }
  EXPECT_EQ(runs, 2);
}

class RecordingSource : public TicketSource {
 public:
  void wait(std::uint64_t sequence, Stream, std::string_view label) override {
    waits.push_back(std::string(label) + " " + std::to_string(sequence));
  }
  std::vector<std::string> waits;
};

TEST(CpuDevice, AWaitReachesTheTicketsSourceUnderItsLabel) {
  CpuDevice device;
  RecordingSource source;
  wait_for(device, {.source = &source, .sequence = 7}, "finalize.dp_sum");
  EXPECT_EQ(source.waits, std::vector<std::string>{"finalize.dp_sum 7"});
}

TEST(CpuDevice, ADefaultTicketIsComplete) {
  CpuDevice device;
  EXPECT_NO_THROW(wait_for(device, {}, "test"));
}

TEST(Device, AnInterposerSeesTheWholeLifeOfATensor) {
  test::RecordingDevice device;
  {
    const Tensor tensor = allocate_tensor(device, DType::kF64, {3}, "test");
    const Buffer buffer = tensor.buffer();
    device.launch({.label = "test", .writes = {&buffer, 1}, .body = [](const LaunchTarget&) {}});
  }
  std::vector<LaunchKind> kinds;
  for (const test::SeenLaunch& launch : device.seen()) kinds.push_back(launch.kind);
  EXPECT_EQ(kinds, (std::vector{LaunchKind::kAllocate, LaunchKind::kKernel, LaunchKind::kFree}));
}

}  // namespace
}  // namespace lockstep
