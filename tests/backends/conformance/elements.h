// Elements whose sums are exact in every dtype and any order, so that results are compared as bits.
//
// An element is a small integer of units, at most 120 in a sum of eight; a dtype's unit has as many
// bits as leave that sum exact, so that a detour through a narrower type is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/tensor/dtype.h"

namespace lockstep::test {

// From -15 to 15; every fourth is negative on all ranks, for a maximum that starts at zero.
std::int64_t input_units(std::uint64_t seed, Rank rank, std::int64_t index);
// What stands around inputs, and in outputs before a call: from 64 to 94, no input.
std::int64_t filler_units(std::int64_t index);

void write_units(DType dtype, std::int64_t units, std::byte* element);
std::string element_text(DType dtype, const std::byte* element);

// The bytes of a whole storage.
using Image = std::vector<std::byte>;
Image image_of(DType dtype, const std::vector<std::int64_t>& units);

}  // namespace lockstep::test
