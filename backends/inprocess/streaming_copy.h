// A copy that goes past the caches: for outputs larger than they are, which nobody reads soon.
#pragma once

#include <cstddef>

namespace lockstep::backends {

void streaming_copy(std::byte* to, const std::byte* from, std::size_t num_bytes);
// Makes what was copied visible to other threads.
void streaming_fence();

}  // namespace lockstep::backends
