// All randomness is f(seed, stream, index): a counter hash, the same bits on every machine and on
// every device, whose kernels compile these bodies too.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

// One round of a 64-bit finaliser.
constexpr std::uint64_t mixed_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// 64 well-mixed bits: three rounds over seed, stream and index.
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return mixed_bits(mixed_bits(mixed_bits(seed) ^ stream) ^ index);
}

// A multiple of 2^-53 in [0, 1).
constexpr double random_unit(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return static_cast<double>(random_bits(seed, stream, index) >> 11) * 0x1p-53;
}

// A multiple of 2^-52 in [-1, 1); exact, so that a power-of-two factor keeps it exact.
constexpr double random_signed(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return 2.0 * random_unit(seed, stream, index) - 1.0;
}

// The stream that belongs to a name (FNV-1a).
std::uint64_t stream_of(std::string_view name);

}  // namespace lockstep
