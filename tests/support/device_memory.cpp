// A device that has a stream of CUDA's has its memory on a GPU.
#include "tests/support/device_memory.h"

#include <cstring>

#include "backends/cuda/moves.h"
#include "core/base/errors.h"
#include "tests/support/tensor_values.h"

namespace lockstep::test {
namespace {

void copy(std::byte* to, const std::byte* from, std::size_t num_bytes, const LaunchTarget& target) {
  if (target.native_stream == nullptr) {
    std::memcpy(to, from, num_bytes);
  } else {
    backends::copy_and_wait(to, from, static_cast<std::int64_t>(num_bytes), target.native_stream);
  }
}

}  // namespace

std::vector<std::byte> bytes_of(Device& device, const Buffer& buffer, Stream stream) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(buffer.num_bytes()));
  if (bytes.empty()) return bytes;
  device.launch({.label = "test.read",
                 .kind = LaunchKind::kHostRead,
                 .reads = {&buffer, 1},
                 .stream = stream,
                 .body = [&](const LaunchTarget& target) {
                   copy(bytes.data(), buffer.bytes(), bytes.size(), target);
                 }});
  return bytes;
}

void put_bytes(Device& device,
               const Buffer& buffer,
               std::span<const std::byte> bytes,
               Stream stream) {
  LOCKSTEP_CHECK(std::ssize(bytes) == buffer.num_bytes(), "not as many bytes as the buffer has");
  if (bytes.empty()) return;
  device.launch({.label = "test.write",
                 .writes = {&buffer, 1},
                 .stream = stream,
                 .body = [&](const LaunchTarget& target) {
                   copy(buffer.bytes(), bytes.data(), bytes.size(), target);
                 }});
}

std::vector<double> values_of(Device& device, const Tensor& tensor, Stream stream) {
  const std::vector<std::byte> bytes = bytes_of(device, tensor.buffer(), stream);
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.num_elements(); ++i) {
    values.push_back(real_at(tensor.dtype, bytes.data(), i));
  }
  return values;
}

}  // namespace lockstep::test
