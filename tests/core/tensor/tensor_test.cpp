// Views share memory and stay within it.
#include "core/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "core/base/errors.h"
#include "core/tensor/cpu_device.h"
#include "core/tensor/storage.h"
#include "tests/support/recording_device.h"

namespace lockstep {
namespace {

class TensorTest : public testing::Test {
 protected:
  Tensor counted(const Shape& shape) {
    Tensor tensor = allocate_tensor(device_, DType::kF64, shape, "test");
    std::iota(tensor.data<double>(), tensor.data<double>() + tensor.num_elements(), 0.0);
    return tensor;
  }

  CpuDevice device_;
};

TEST_F(TensorTest, RowsAreAViewOnTheSameMemory) {
  const Tensor tensor = counted({4, 3});
  const Tensor view = tensor.rows(1, 2);
  EXPECT_EQ(view.shape, Shape({2, 3}));
  EXPECT_EQ(view.data<double>()[0], 3.0);
  view.data<double>()[0] = -1.0;
  EXPECT_EQ(tensor.data<double>()[3], -1.0);
}

TEST_F(TensorTest, AViewOutsideTheTensorIsRefused) {
  const Tensor tensor = counted({4, 3});
  EXPECT_THROW(static_cast<void>(tensor.rows(3, 2)), InternalError);
  EXPECT_THROW(static_cast<void>(tensor.rows(-1, 2)), InternalError);
  EXPECT_THROW(static_cast<void>(tensor.reshaped({5})), InternalError);
}

TEST_F(TensorTest, StoragesStartOnCacheLinesSoThatBitsDoNotDependOnPlace) {
  for (const std::int64_t size : {1, 3, 17, 1000}) {
    const Tensor tensor = counted({size});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data<double>()) % Storage::kAlignment, 0U);
  }
}

TEST_F(TensorTest, MemoryLivesAsLongAsItsLastView) {
  Tensor view;
  {
    const Tensor tensor = counted({4});
    view = tensor.rows(2, 2);
  }
  EXPECT_EQ(view.data<double>()[1], 3.0);
}

std::vector<Stream> streams_of(const test::RecordingDevice& device) {
  std::vector<Stream> streams;
  for (const test::SeenLaunch& launch : device.seen()) streams.push_back(launch.stream);
  return streams;
}

TEST(StorageLaunches, NameTheStorageAndItsStreamWhenItComesAndGoes) {
  test::RecordingDevice device;
  allocate_tensor(device, DType::kF64, {3}, "test");
  EXPECT_EQ(streams_of(device), (std::vector<Stream>{{0}, {0}}));
  allocate_tensor(device, DType::kF64, {3}, "test", Stream{2});
  EXPECT_EQ(streams_of(device), (std::vector<Stream>{{0}, {0}, {2}, {2}}));
}

TEST(StorageLaunches, CoverBytesThatFillNoElement) {
  test::RecordingDevice device;
  const Storage storage(device, 5, "test");
  EXPECT_GE(device.seen()[0].num_bytes_written, 5);
}

}  // namespace
}  // namespace lockstep
