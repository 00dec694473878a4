// What an op's context decides for each of its launches.
#include "core/ops/context.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/ops/cpu/kernels.h"
#include "core/ops/elementwise.h"
#include "core/ops/host.h"
#include "core/ops/linear.h"
#include "tests/support/recording_device.h"

namespace lockstep {
namespace {

TEST(OpContext, EverythingAnOpLaunchesIsOnItsStream) {
  test::RecordingDevice device;
  const KernelTable kernels = cpu_kernels();
  const OpContext ops{.device = device, .kernels = kernels, .stream = {3}};
  {
    const Tensor x = reals_from_host(ops, DType::kF64, std::vector{1.0, 2.0}, {1, 2}, "test.x");
    const Tensor weight =
        reals_from_host(ops, DType::kF64, std::vector{3.0, 4.0}, {1, 2}, "test.weight");
    const Tensor ids = integers_from_host(ops, std::vector<std::int64_t>{0}, {1}, "test.ids");
    EXPECT_EQ(read_reals(ops, silu(ops, linear(ops, x, weight)), "test.read").size(), 1U);
  }
  // Five tensors, each allocated, written and freed, and the read.
  EXPECT_EQ(device.seen().size(), 16U);
  for (const test::SeenLaunch& launch : device.seen()) EXPECT_EQ(launch.stream, Stream{3});
}

}  // namespace
}  // namespace lockstep
