// Non-temporal stores where the compiler may use them, else a plain copy.
#include "backends/inprocess/streaming_copy.h"

#include <cstdint>
#include <cstring>

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace lockstep::backends {

#if defined(__AVX__)

void streaming_copy(std::byte* to, const std::byte* from, std::size_t num_bytes) {
  constexpr std::size_t kStep = sizeof(__m256i);
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(to) % kStep;
  std::size_t done = misaligned == 0 ? 0 : kStep - misaligned;
  if (done >= num_bytes) done = num_bytes;
  std::memcpy(to, from, done);
  for (; done + kStep <= num_bytes; done += kStep) {
    const __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + done));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + done), value);
  }
  std::memcpy(to + done, from + done, num_bytes - done);
}

void streaming_fence() { _mm_sfence(); }

#else

void streaming_copy(std::byte* to, const std::byte* from, std::size_t num_bytes) {
  std::memcpy(to, from, num_bytes);
}

void streaming_fence() {}

#endif

}  // namespace lockstep::backends
