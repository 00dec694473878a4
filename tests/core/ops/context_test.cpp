// What an op's context decides for each of its launches.
#include "core/ops/context.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/ops/cpu/kernels.h"
#include "core/ops/elementwise.h"
#include "core/ops/host.h"
#include "core/ops/linear.h"
#include "core/tensor/cpu_device.h"

namespace lockstep {
namespace {

// Passes launches on and remembers their streams.
class StreamRecorder : public Device {
 public:
  explicit StreamRecorder(Device& inner) : inner_(inner) {}

  Ticket launch(const Launch& launch) override {
    streams_.push_back(launch.stream);
    return inner_.launch(launch);
  }
  const std::vector<Stream>& streams() const { return streams_; }

 private:
  Device& inner_;
  std::vector<Stream> streams_;
};

TEST(OpContext, EverythingAnOpLaunchesIsOnItsStream) {
  CpuDevice cpu;
  StreamRecorder device(cpu);
  const KernelTable kernels = cpu_kernels(DType::kF64);
  const OpContext ops{.device = device, .kernels = kernels, .stream = {3}};
  {
    const Tensor x = reals_from_host(ops, std::vector{1.0, 2.0}, {1, 2}, "test.x");
    const Tensor weight = reals_from_host(ops, std::vector{3.0, 4.0}, {1, 2}, "test.weight");
    const Tensor ids = integers_from_host(ops, std::vector<std::int64_t>{0}, {1}, "test.ids");
    EXPECT_EQ(read_reals(ops, silu(ops, linear(ops, x, weight)), "test.read").size(), 1U);
  }
  // Five tensors, each allocated, written and freed, and the read.
  EXPECT_EQ(device.streams(), std::vector<Stream>(16, Stream{3}));
}

}  // namespace
}  // namespace lockstep
