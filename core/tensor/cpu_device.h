// The CPU device: memory of the host, each launch done when it returns.
//
// Memory that nobody has written since it was allocated or freed is poisoned: it reads as NaN, and
// as a huge negative integer. Freed blocks are kept for the next tensor of that size.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "core/tensor/device.h"

namespace lockstep {

class CpuDevice : public Device {
 public:
  CpuDevice() = default;
  ~CpuDevice() override;
  CpuDevice(const CpuDevice&) = delete;
  CpuDevice& operator=(const CpuDevice&) = delete;

  Ticket launch(const Launch& launch) override;

 private:
  void allocate(Storage& storage);
  void release(Storage& storage);

  // By the power of two that a block holds at least.
  std::array<std::vector<std::byte*>, 64> free_blocks_;
};

}  // namespace lockstep
