// A block of device memory, allocated and freed through the device port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/tensor/ticket.h"

namespace lockstep {

class Device;

class Storage {
 public:
  static constexpr std::size_t kAlignment = 64;

  // `label` names it in reports and must outlive it, as must the device. It is allocated and freed
  // on `stream`: before the last owner lets go, that stream must wait for work on any other.
  Storage(Device& device, std::int64_t num_bytes, std::string_view label, Stream stream = {});
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* data() const { return data_; }
  std::int64_t num_bytes() const { return num_bytes_; }
  std::string_view label() const { return label_; }
  Stream stream() const { return stream_; }

  // For a device that executes kAllocate and kFree: where the memory is, null for none.
  void set_data(std::byte* data) { data_ = data; }

 private:
  Device& device_;
  std::int64_t num_bytes_;
  std::string_view label_;
  Stream stream_;
  std::byte* data_ = nullptr;
};

}  // namespace lockstep
