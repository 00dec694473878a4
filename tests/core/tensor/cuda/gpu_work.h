// Work for a GPU whose end a test decides: kernels that spin, that wait for the host, that fault.
#pragma once

#include <cstdint>

#include "core/tensor/device.h"

namespace lockstep::test {

// All kernels are loaded when the process first calls CUDA: to load one later may wait for all work
// on the GPU, which a closed gate never ends. Made before the first Gpu.
class KernelsLoadedAtOnce {
 public:
  KernelsLoadedAtOnce();
};

// Keeps the target's stream busy.
void spin(const LaunchTarget& target, std::int64_t nanoseconds);
// out[i] = value, after all earlier work of the stream.
void store(const LaunchTarget& target, const Buffer& out, double value);
// to[i] = from[i], f64.
void copy(const LaunchTarget& target, const Buffer& from, const Buffer& to);
// Writes where nothing is: the process can use its GPUs no more.
void fault(const LaunchTarget& target);

// Holds streams until the host opens it; opened at the latest when it goes. Needs a GPU to be
// chosen.
class Gate {
 public:
  Gate();
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // What follows on the target's stream waits.
  void hold(const LaunchTarget& target) const;
  void open();

 private:
  volatile int* is_open_ = nullptr;  // in host memory that the GPU reads
};

}  // namespace lockstep::test
