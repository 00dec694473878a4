// The CPU device: aligned and poisoned host memory, and bodies run at once.
#include "core/tensor/cpu_device.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <new>

#include "core/tensor/poison.h"
#include "core/tensor/storage.h"

namespace lockstep {
namespace {

constexpr std::align_val_t kAlignment{Storage::kAlignment};

void poison(std::byte* block, std::size_t bytes) {
  std::fill_n(reinterpret_cast<std::uint64_t*>(block), bytes / sizeof(std::uint64_t), kPoison);
}

std::size_t size_of(const Storage& storage) {
  return static_cast<std::size_t>(storage.num_bytes());
}

std::size_t class_of(std::size_t bytes) {
  return static_cast<std::size_t>(std::bit_width(std::max<std::size_t>(bytes, 1) - 1));
}

}  // namespace

CpuDevice::~CpuDevice() {
  for (const std::vector<std::byte*>& blocks : free_blocks_) {
    for (std::byte* const block : blocks) ::operator delete(block, kAlignment);
  }
}

// A block that comes back was poisoned when it was freed.
void CpuDevice::allocate(Storage& storage) {
  const std::size_t size_class = class_of(size_of(storage));
  std::vector<std::byte*>& blocks = free_blocks_[size_class];
  if (blocks.empty()) {
    const std::size_t bytes = std::size_t{1} << size_class;
    blocks.push_back(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
    poison(blocks.back(), bytes);
  }
  storage.set_data(blocks.back());
  blocks.pop_back();
}

void CpuDevice::release(Storage& storage) {
  poison(storage.data(), size_of(storage));
  free_blocks_[class_of(size_of(storage))].push_back(storage.data());
  storage.set_data(nullptr);
}

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
