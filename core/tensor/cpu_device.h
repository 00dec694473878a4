// The CPU device: memory of the host, each launch done when it returns.
#pragma once

#include "core/tensor/device.h"

namespace lockstep {

class CpuDevice : public Device {
 public:
  Ticket launch(const Launch& launch) override;
};

}  // namespace lockstep
