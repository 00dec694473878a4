// The device port: everything that touches tensor memory on a rank is one launch.
//
// A body runs before launch() returns, so that it may refer to its caller's values; on a GPU it
// only enqueues, and what it enqueues must not. Interposers (happens-before, timeline, cost,
// memory, faults) are Devices that pass launches on; one that gives out tickets of its own takes
// them back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "core/tensor/dtype.h"
#include "core/tensor/ticket.h"

namespace lockstep {

class Storage;

// A run of elements in a storage; does not own it.
struct Buffer {
  Storage* storage = nullptr;
  DType dtype = DType::kF64;
  std::int64_t offset = 0;  // elements
  std::int64_t count = 0;   // elements

  std::byte* bytes() const;  // null where the device holds no data
  std::int64_t num_bytes() const;
};

enum class LaunchKind {
  kKernel,    // runs `body` on the stream
  kHostRead,  // runs `body` on the host once all work on `reads` is done; without data it is not
              // run and what the caller had assumed stands
  kWait,      // makes the stream wait for `ticket`
  kAllocate,  // gives memory to writes[0].storage
  kFree,      // takes it back; counts as a write
};

struct Cost {
  std::int64_t flops = 0;
  std::int64_t bytes = 0;
};

// What a body may need of the device it runs on.
struct LaunchTarget {
  void* native_stream = nullptr;  // cudaStream_t on a GPU
  // On a GPU: what the kernels of products keep beside the stream. The first of them makes it.
  std::shared_ptr<void>* products = nullptr;
};

struct Launch {
  // "area.entry[.parameter]". Outlives the launch; whoever keeps it longer copies it.
  std::string_view label = {};
  LaunchKind kind = LaunchKind::kKernel;
  std::span<const Buffer> reads = {};
  std::span<const Buffer> writes = {};
  Cost cost = {};
  Stream stream = {};
  Ticket ticket = {};  // of a kWait: of a communicator, or of a launch on another stream
  std::function<void(const LaunchTarget&)> body = {};
};

class Device {
 public:
  virtual ~Device() = default;

  // The point on the launch's stream after it, for another stream to wait for.
  virtual Ticket launch(const Launch& launch) = 0;
};

// Makes `stream` wait for a ticket: the labelled launch that interposers and defects see.
void wait_for(Device& device, const Ticket& ticket, std::string_view label, Stream stream = {});

}  // namespace lockstep
