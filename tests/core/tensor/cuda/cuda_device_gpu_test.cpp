// The CUDA device: poisoned memory, streams that order work, waits that can be given up, errors
// that say what was under way.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/errors.h"
#include "core/ops/cuda/kernels.h"
#include "core/ops/host.h"
#include "core/tensor/cuda/cuda_device.h"
#include "core/tensor/poison.h"
#include "core/tensor/storage.h"
#include "tests/core/tensor/cuda/gpu_work.h"

namespace lockstep {
namespace {

using test::Gate;

constexpr Stream kMain{0};
constexpr Stream kSide{1};
constexpr Stream kThird{2};

// Streams are made before a test: to make one may wait for all work on the GPU.
class CudaDeviceTest : public testing::Test {
 protected:
  CudaDeviceTest() {
    for (const Stream stream : {kMain, kSide, kThird}) device_.native_stream(stream);
  }

  Ticket run(Stream stream,
             std::string_view label,
             const std::function<void(const LaunchTarget&)>& body) {
    return device_.launch({.label = label, .stream = stream, .body = body});
  }
  void hold(const Gate& gate, Stream stream) {
    run(stream, "test.hold", [&](const LaunchTarget& target) { gate.hold(target); });
  }
  void store(const Tensor& out, double value, Stream stream) {
    run(stream, "test.store", [&](const LaunchTarget& target) {
      test::store(target, out.buffer(), value);
    });
  }
  Tensor reals(std::int64_t count) {
    return allocate_tensor(device_, DType::kF64, {count}, "test");
  }
  std::vector<double> read(const Tensor& tensor, Stream stream = kMain) {
    const OpContext ops{.device = device_, .kernels = kernels_, .stream = stream};
    return read_reals(ops, tensor, "test.read");
  }
  // What was thrown by a call that must throw a CudaError.
  template <typename Call>
  std::string error_of(const Call& call) {
    try {
      call();
    } catch (const CudaError& error) {
      return error.what();
    }
    ADD_FAILURE() << "no CudaError";
    return "";
  }

  test::KernelsLoadedAtOnce kernels_loaded_at_once_;
  Gpu gpu_{0};
  CudaDevice device_{gpu_};
  KernelTable kernels_ = cuda_kernels();
};

TEST_F(CudaDeviceTest, NewMemoryReadsAsNaNInEveryTypeOfReals) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16}) {
    for (const std::int64_t count : {1, 5, 1000, 3'000'001}) {
      const Tensor fresh = allocate_tensor(device_, dtype, {count}, "test");
      std::int64_t num_reals = 0;
      for (const double value : read(fresh)) num_reals += std::isnan(value) ? 0 : 1;
      EXPECT_EQ(num_reals, 0) << count << " of " << name_of(dtype);
    }
  }
}

TEST_F(CudaDeviceTest, NewIntegersAreHugeNegativesThatNoRangeCheckPasses) {
  Tensor fresh = allocate_tensor(device_, DType::kI64, {1001}, "test");
  fresh.dtype = DType::kF64;  // as the f64 of the same bits
  for (const double value : read(fresh)) {
    EXPECT_LT(std::bit_cast<std::int64_t>(value), -1'000'000'000);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(value), kPoison);
  }
}

TEST_F(CudaDeviceTest, FreedMemoryIsGivenOutPoisonedAgain) {
  for (int repeat = 0; repeat < 3; ++repeat) {
    const Tensor tensor = reals(5000);
    EXPECT_TRUE(std::isnan(read(tensor)[4999])) << repeat;
    store(tensor, 1.0, kMain);
    EXPECT_EQ(read(tensor)[4999], 1.0) << repeat;
  }
}

TEST_F(CudaDeviceTest, ATensorOfNothingNeedsNoMemory) {
  const Tensor none = reals(0);
  EXPECT_EQ(none.storage->data(), nullptr);
  EXPECT_TRUE(read(none).empty());
}

TEST_F(CudaDeviceTest, AHostReadWaitsForItsStreamAndSeesWhatWasStored) {
  const Tensor x = reals(3);
  Gate gate;
  int num_watches = 0;
  device_.set_watch([&] {
    if (++num_watches == 3) gate.open();
  });
  hold(gate, kMain);
  store(x, 7.0, kMain);
  EXPECT_EQ(read(x), (std::vector<double>{7.0, 7.0, 7.0}));
  EXPECT_GE(num_watches, 3) << "the gate was opened by the third call of the watch alone";
}

// The copy stands on its own stream before the store is free to run. A read on a third stream in
// between gives it all the time that it would need.
TEST_F(CudaDeviceTest, AWaitForAnotherStreamsTicketOrdersWork) {
  const Tensor x = reals(3);
  const Tensor seen = reals(3);
  const Tensor other = reals(1);
  read(other);
  Gate gate;
  hold(gate, kSide);
  store(x, 7.0, kSide);
  const Ticket stored = run(kSide, "test.after", [](const LaunchTarget&) {});
  wait_for(device_, stored, "test.wait", kMain);
  run(kMain, "test.copy", [&](const LaunchTarget& target) {
    test::copy(target, x.buffer(), seen.buffer());
  });
  store(other, 1.0, kThird);
  EXPECT_EQ(read(other, kThird), std::vector<double>{1.0}) << "no other stream is held";
  gate.open();
  EXPECT_EQ(read(seen), (std::vector<double>{7.0, 7.0, 7.0}));
}

TEST_F(CudaDeviceTest, ADefaultTicketAndOneOfTheSameStreamHoldNothingUp) {
  const Tensor x = reals(1);
  const Ticket own = run(kMain, "test.own", [](const LaunchTarget&) {});
  wait_for(device_, {}, "test.wait");
  wait_for(device_, own, "test.wait");
  store(x, 3.0, kMain);
  EXPECT_EQ(read(x), std::vector<double>{3.0});
}

TEST_F(CudaDeviceTest, WhatTheWatchThrowsEndsAWaitAndTheDeviceGoesOn) {
  const Tensor x = reals(1);
  Gate gate;
  device_.set_watch([] { throw std::runtime_error("a peer is gone"); });
  hold(gate, kMain);
  store(x, 5.0, kMain);
  EXPECT_THROW(read(x), std::runtime_error);
  EXPECT_THROW(device_.finish(), std::runtime_error);
  device_.set_watch({});
  gate.open();
  store(x, 6.0, kMain);
  EXPECT_EQ(read(x), std::vector<double>{6.0});
}

TEST_F(CudaDeviceTest, FinishWaitsForAllStreams) {
  const Tensor x = reals(1);
  read(x);  // it is allocated on the main stream
  Gate gate;
  bool was_opened = false;
  device_.set_watch([&] {
    was_opened = true;
    gate.open();
  });
  hold(gate, kThird);
  store(x, 9.0, kThird);
  device_.finish();
  EXPECT_TRUE(was_opened);
  EXPECT_EQ(read(x), std::vector<double>{9.0});
}

TEST_F(CudaDeviceTest, AnImpossibleAllocationTellsSizeAndLabelAndLeavesTheDeviceWorking) {
  constexpr std::int64_t kElements = std::int64_t{1} << 44;
  const std::string error =
      error_of([&] { allocate_tensor(device_, DType::kF64, {kElements}, "test.huge"); });
  EXPECT_NE(error.find("allocating 140737488355328 bytes for 'test.huge': "), std::string::npos)
      << error;
  const Tensor x = reals(2);
  store(x, 4.0, kMain);
  EXPECT_EQ(read(x), (std::vector<double>{4.0, 4.0}));
}

// In a process of its own, for after a fault no call to CUDA succeeds.
TEST_F(CudaDeviceTest, AFaultOfAKernelIsToldWhereItIsWaitedForAndTheGpuIsLost) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto fault_and_tell = [&] {
    const Tensor x = reals(1);
    run(kMain, "test.fault", [](const LaunchTarget& target) { test::fault(target); });
    const std::string error = error_of([&] { read(x); });
    std::fprintf(stderr, "told: %s\n", error.c_str());
    std::_Exit(gpu_.is_lost() ? 3 : 4);
  };
  EXPECT_EXIT(fault_and_tell(),
              testing::ExitedWithCode(3),
              "told: waiting for what 'test.read' reads, where .*: .*illegal memory access");
}

TEST_F(CudaDeviceTest, AGpuThatWorksIsNotLost) { EXPECT_FALSE(gpu_.is_lost()); }

TEST(Gpu, ThatTheMachineLacksIsRefusedByNumber) {
  for (const int ordinal : {99, -1}) {
    try {
      const Gpu gpu(ordinal);
      ADD_FAILURE() << "there is no GPU " << ordinal;
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()),
                "there is no GPU " + std::to_string(ordinal) + "; this process sees " +
                    std::to_string(num_gpus()));
    }
  }
}

}  // namespace
}  // namespace lockstep
