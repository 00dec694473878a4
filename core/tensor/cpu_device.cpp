// The CPU device: aligned host memory, poisoned when new, and bodies run at once.
#include "core/tensor/cpu_device.h"

#include <algorithm>
#include <cstdint>
#include <new>

#include "core/tensor/storage.h"

namespace lockstep {
namespace {

constexpr std::align_val_t kAlignment{Storage::kAlignment};

// Reads as NaN in every floating type, as a huge negative number in an integer that range checks
// catch: all bits set would be -1, a plausible index.
constexpr std::uint64_t kPoison = 0xfff7fff7fff7fff7ULL;

void allocate(Storage& storage) {
  const auto bytes = static_cast<std::size_t>(storage.num_bytes());
  auto* const memory = static_cast<std::byte*>(::operator new(bytes, kAlignment));
  std::fill_n(reinterpret_cast<std::uint64_t*>(memory), bytes / sizeof(std::uint64_t), kPoison);
  storage.set_data(memory);
}

void release(Storage& storage) {
  ::operator delete(storage.data(), kAlignment);
  storage.set_data(nullptr);
}

}  // namespace

Ticket CpuDevice::launch(const Launch& launch) {
  switch (launch.kind) {
    case LaunchKind::kKernel:
    case LaunchKind::kHostRead:
      launch.body({});
      break;
    case LaunchKind::kWait:
      if (launch.ticket.source != nullptr) {
        launch.ticket.source->wait(launch.ticket.sequence, launch.stream, launch.label);
      }
      break;
    case LaunchKind::kAllocate:
      allocate(*launch.writes[0].storage);
      break;
    case LaunchKind::kFree:
      release(*launch.writes[0].storage);
      break;
  }
  return {};
}

}  // namespace lockstep
