// All randomness is f(seed, stream, index): a counter hash, the same bits on every machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

// 64 well-mixed bits.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

// A multiple of 2^-52 in [-1, 1); exact, so that a power-of-two factor keeps it exact.
double random_signed(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

// A multiple of 2^-53 in [0, 1).
double random_unit(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

// The stream that belongs to a name (FNV-1a).
std::uint64_t stream_of(std::string_view name);

}  // namespace lockstep
