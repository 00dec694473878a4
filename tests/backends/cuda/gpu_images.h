// Memory of a GPU beside an image of it on the host, compared whole: what lies around is seen too.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/tensor/cuda/cuda_device.h"
#include "tests/support/device_memory.h"
#include "tests/support/tensor_values.h"

namespace lockstep::test {

using Image = std::vector<std::byte>;

// No two bytes near each other have much in common.
inline Image random_image(std::size_t num_bytes, std::uint64_t stream) {
  Image image(num_bytes);
  for (std::size_t at = 0; at < num_bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t bits = random_bits(77, stream, at);
    std::memcpy(image.data() + at, &bits, std::min(sizeof(bits), num_bytes - at));
  }
  return image;
}

inline Tensor on_gpu(CudaDevice& device, const Image& image, DType dtype) {
  const auto count = static_cast<std::int64_t>(image.size()) / element_bytes(dtype);
  const Tensor tensor = allocate_tensor(device, dtype, {count}, "test.image");
  put_bytes(device, tensor.buffer(), image);
  return tensor;
}

// As bits, but that any NaN of a type of reals is as good as another.
inline testing::AssertionResult same_elements(DType dtype,
                                              const Image& found,
                                              const Image& wanted) {
  if (found.size() != wanted.size()) return testing::AssertionFailure() << "sizes differ";
  const auto width = static_cast<std::size_t>(element_bytes(dtype));
  for (std::size_t at = 0; at < found.size(); at += width) {
    if (std::memcmp(found.data() + at, wanted.data() + at, width) == 0) continue;
    const auto index = static_cast<std::int64_t>(at / width);
    std::string values;
    if (dtype != DType::kI64) {
      const double a = real_at(dtype, found.data(), index);
      const double b = real_at(dtype, wanted.data(), index);
      if (a != a && b != b) continue;
      values = ", in numbers " + std::to_string(a) + " and " + std::to_string(b);
    }
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::memcpy(&a, found.data() + at, width);
    std::memcpy(&b, wanted.data() + at, width);
    return testing::AssertionFailure() << "element " << index << " of " << found.size() / width
                                       << " is " << std::hex << a << ", should be " << b << values;
  }
  return testing::AssertionSuccess();
}

}  // namespace lockstep::test
