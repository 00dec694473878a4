// A CPU device that remembers its launches: what an interposer at the device port sees.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/cpu_device.h"

namespace lockstep::test {

struct SeenLaunch {
  std::string label;
  LaunchKind kind;
  Stream stream;
  std::int64_t num_bytes_written = 0;
};

class RecordingDevice : public Device {
 public:
  Ticket launch(const Launch& launch) override {
    std::int64_t num_bytes = 0;
    for (const Buffer& buffer : launch.writes) num_bytes += buffer.num_bytes();
    seen_.push_back({.label = std::string(launch.label),
                     .kind = launch.kind,
                     .stream = launch.stream,
                     .num_bytes_written = num_bytes});
    return cpu_.launch(launch);
  }

  // In the order in which they came.
  const std::vector<SeenLaunch>& seen() const { return seen_; }

 private:
  CpuDevice cpu_;
  std::vector<SeenLaunch> seen_;
};

}  // namespace lockstep::test
