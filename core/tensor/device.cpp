// Buffers' addresses and the labelled wait.
#include "core/tensor/device.h"

#include "core/tensor/storage.h"

namespace lockstep {

std::byte* Buffer::bytes() const {
  if (storage == nullptr || storage->data() == nullptr) return nullptr;
  return storage->data() + offset * element_bytes(dtype);
}

std::int64_t Buffer::num_bytes() const { return count * element_bytes(dtype); }

void wait_for(Device& device, const Ticket& ticket, std::string_view label, Stream stream) {
  device.launch({.label = label, .kind = LaunchKind::kWait, .stream = stream, .ticket = ticket});
}

}  // namespace lockstep
