// Non-temporal stores where the processor has them, else a plain copy.
#include "backends/inprocess/streaming_copy.h"

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace lockstep::backends {

#if defined(__SSE2__)

void streaming_copy(std::byte* to, const std::byte* from, std::size_t num_bytes) {
  constexpr std::size_t kStep = sizeof(__m128i);
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(to) % kStep;
  std::size_t done = misaligned == 0 ? 0 : kStep - misaligned;
  if (done >= num_bytes) done = num_bytes;
  std::memcpy(to, from, done);
  for (; done + kStep <= num_bytes; done += kStep) {
    const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + done));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + done), value);
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
