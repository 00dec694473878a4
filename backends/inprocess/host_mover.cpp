// Loops over memory of the host: each is done when it returns, so no order has to be kept.
#include <algorithm>

#include "backends/inprocess/mover.h"
#include "backends/inprocess/poison.h"
#include "backends/inprocess/streaming_copy.h"
#include "core/tensor/cpu_device.h"

namespace lockstep::backends {
namespace {

template <typename T>
void fill_sparsely(T* elements, std::int64_t count, T value, const FillPattern& pattern) {
  for (std::int64_t i = pattern.whole; i < count; i += pattern.stride) elements[i] = value;
}

// The same a line of the cache at a time and past the caches: of a buffer larger than they are each
// line would be fetched first, and be in the way of the result.
template <typename T>
void stream_sparsely(T* elements, std::int64_t count, T value, const FillPattern& pattern) {
  constexpr std::int64_t kMaxRun = 64 / sizeof(T);
  alignas(64) T run[kMaxRun];
  std::fill_n(run, kMaxRun, value);
  for (std::int64_t i = pattern.whole; i < count; i += pattern.stride) {
    const auto size = static_cast<std::size_t>(std::min(pattern.run, count - i));
    streaming_copy(reinterpret_cast<std::byte*>(elements + i),
                   reinterpret_cast<const std::byte*>(run),
                   size * sizeof(T));
  }
  streaming_fence();
}

template <typename T>
void fill(const Buffer& buffer, std::uint64_t bits) {
  T* elements = reinterpret_cast<T*>(buffer.bytes());
  if (elements == nullptr || buffer.count == 0) return;
  const FillPattern pattern = poison_pattern(buffer);
  const T value = static_cast<T>(bits);
  std::fill_n(elements, pattern.whole, value);
  if (pattern.run == 1) {
    fill_sparsely(elements, buffer.count, value, pattern);
  } else {
    stream_sparsely(elements, buffer.count, value, pattern);
  }
  elements[buffer.count - 1] = value;
}

class HostMover : public Mover {
 public:
  Device& device() override { return device_; }

  void reduce(const Reduction& reduction,
              std::span<const std::byte* const> inputs,
              std::int64_t first,
              std::int64_t count,
              std::span<std::byte* const> outputs) override {
    backends::reduce(reduction, inputs, first, count, outputs);
  }

  void poison(const RankStream&, const Buffer& buffer) override {
    const std::uint64_t bits = poison_bits(buffer.dtype);
    switch (buffer.dtype) {
      case DType::kF64:
      case DType::kI64:
        return fill<std::uint64_t>(buffer, bits);
      case DType::kF32:
        return fill<std::uint32_t>(buffer, bits);
      case DType::kBF16:
        return fill<std::uint16_t>(buffer, bits);
    }
  }

 private:
  CpuDevice device_;
};

}  // namespace

std::unique_ptr<Mover> make_host_mover() { return std::make_unique<HostMover>(); }

}  // namespace lockstep::backends
