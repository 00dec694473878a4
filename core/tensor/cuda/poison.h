// Fills device memory with what reads as NaN, or as a huge negative integer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep {

// On a cudaStream_t; `bytes` is a multiple of 8, as storages are.
void poison_on_gpu(std::byte* memory, std::int64_t bytes, void* stream);

}  // namespace lockstep
