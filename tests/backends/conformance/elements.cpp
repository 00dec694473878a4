// Units of each dtype, and their bytes.
#include "tests/backends/conformance/elements.h"

#include <fmt/format.h>

#include <cstring>

#include "core/base/errors.h"
#include "core/base/random.h"
#include "core/tensor/bfloat16.h"

namespace lockstep::test {
namespace {

// Sums of 7 bits and a sign times these are exact: 48 of 53 bits, 20 of 24, 7 of 8, 63 of 64.
constexpr double kUnitF64 = static_cast<double>((std::int64_t{1} << 40) + 1);
constexpr float kUnitF32 = static_cast<float>((1 << 12) + 1);
constexpr std::int64_t kUnitI64 = (std::int64_t{1} << 55) + 1;

template <typename T>
void put(T value, std::byte* element) {
  std::memcpy(element, &value, sizeof(T));
}

template <typename T>
T get(const std::byte* element) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  return value;
}

}  // namespace

std::int64_t input_units(std::uint64_t seed, Rank rank, std::int64_t index) {
  const std::uint64_t bits =
      random_bits(seed, static_cast<std::uint64_t>(rank.value), static_cast<std::uint64_t>(index));
  if (index % 4 == 0) return -1 - static_cast<std::int64_t>(bits % 15);
  return static_cast<std::int64_t>(bits % 31) - 15;
}

std::int64_t filler_units(std::int64_t index) { return 64 + index % 31; }

void write_units(DType dtype, std::int64_t units, std::byte* element) {
  switch (dtype) {
    case DType::kF64:
      return put(static_cast<double>(units) * kUnitF64, element);
    case DType::kF32:
      return put(static_cast<float>(units) * kUnitF32, element);
    case DType::kBF16:
      return put(rounded_to_bf16(static_cast<float>(units)), element);
    case DType::kI64:
      return put(units * kUnitI64, element);
  }
}

std::string element_text(DType dtype, const std::byte* element) {
  switch (dtype) {
    case DType::kF64:
      return fmt::format("{} units", get<double>(element) / kUnitF64);
    case DType::kF32:
      return fmt::format("{} units", get<float>(element) / kUnitF32);
    case DType::kBF16:
      return fmt::format("{} units", widened(get<BF16>(element)));
    case DType::kI64: {
      const auto value = get<std::int64_t>(element);
      return fmt::format("{} units and {}", value / kUnitI64, value % kUnitI64);
    }
  }
  throw InternalError("unknown dtype");
}

Image image_of(DType dtype, const std::vector<std::int64_t>& units) {
  const auto element = static_cast<std::size_t>(element_bytes(dtype));
  Image image(units.size() * element);
  for (std::size_t i = 0; i < units.size(); ++i) {
    write_units(dtype, units[i], image.data() + i * element);
  }
  return image;
}

}  // namespace lockstep::test
