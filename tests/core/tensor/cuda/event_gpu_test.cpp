// One event orders streams again and again: each waits for the point that was recorded last when it
// was told to.
#include <gtest/gtest.h>

#include <vector>

#include "core/tensor/cuda/cuda_device.h"
#include "core/tensor/cuda/event.h"
#include "tests/core/tensor/cuda/gpu_work.h"
#include "tests/support/device_memory.h"

namespace lockstep::test {
namespace {

constexpr Stream kFirst{1};
constexpr Stream kSecond{2};
constexpr std::int64_t kLong = 20'000'000;  // nanoseconds

class GpuEvents : public testing::Test {
 protected:
  GpuEvents() {
    gpu_.enter();
    cell_ = allocate_tensor(device_, DType::kF64, {1}, "test.cell");
    log_ = allocate_tensor(device_, DType::kF64, {1}, "test.log");
    values_of(device_, cell_);  // both are there now
  }

  void store_late(Stream stream, double value) {
    const Buffer cell = cell_.buffer();
    device_.launch({.label = "test.store",
                    .writes = {&cell, 1},
                    .stream = stream,
                    .body = [&](const LaunchTarget& target) {
                      spin(target, kLong);
                      store(target, cell, value);
                    }});
  }

  double log_on(Stream stream) {
    const Buffer cell = cell_.buffer();
    const Buffer log = log_.buffer();
    device_.launch({.label = "test.copy",
                    .reads = {&cell, 1},
                    .writes = {&log, 1},
                    .stream = stream,
                    .body = [&](const LaunchTarget& target) { copy(target, cell, log); }});
    return values_of(device_, log_, stream)[0];
  }

  KernelsLoadedAtOnce kernels_loaded_at_once_;
  Gpu gpu_{0};
  CudaDevice device_{gpu_};
  Tensor cell_;
  Tensor log_;
};

TEST_F(GpuEvents, AStreamThatIsHeldBackSeesWhatCameBefore) {
  GpuEvent event;
  store_late(kFirst, 5.0);
  event.record(device_.native_stream(kFirst));
  event.hold_back(device_.native_stream(kSecond));
  EXPECT_EQ(log_on(kSecond), 5.0);
  EXPECT_TRUE(event.is_reached());
}

TEST_F(GpuEvents, APointIsKeptByThoseWhoWaitForItWhenTheEventMovesOn) {
  GpuEvent event;
  store_late(kFirst, 6.0);
  event.record(device_.native_stream(kFirst));
  event.hold_back(device_.native_stream(kSecond));
  event.record(device_.native_stream({}));  // reached at once
  EXPECT_EQ(log_on(kSecond), 6.0);
}

TEST_F(GpuEvents, APointFarInTheFutureIsNotReached) {
  GpuEvent event;
  store_late(kFirst, 7.0);
  event.record(device_.native_stream(kFirst));
  EXPECT_FALSE(event.is_reached());
  EXPECT_EQ(log_on(kFirst), 7.0);
  EXPECT_TRUE(event.is_reached());
}

}  // namespace
}  // namespace lockstep::test
