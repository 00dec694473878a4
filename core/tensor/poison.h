// What memory reads as that nobody has written: the same on every device.
#pragma once

#include <cstdint>

namespace lockstep {

// NaN in every floating type, and a huge negative number in an integer, which range checks catch:
// all bits set would be -1, a plausible index.
inline constexpr std::uint64_t kPoison = 0xfff7fff7fff7fff7ULL;

}  // namespace lockstep
