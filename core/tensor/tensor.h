// A dense row-major tensor: a shared storage, an offset, a shape. Copies share memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/tensor/device.h"
#include "core/tensor/shape.h"

namespace lockstep {

struct Tensor {
  std::shared_ptr<Storage> storage;
  DType dtype = DType::kF64;
  Shape shape;
  std::int64_t offset = 0;  // elements

  explicit operator bool() const { return storage != nullptr; }
  std::int64_t num_elements() const { return shape.num_elements(); }
  Buffer buffer() const;
  template <typename T>
  T* data() const {
    return reinterpret_cast<T*>(buffer().bytes());
  }

  // Views on the same memory.
  Tensor reshaped(const Shape& new_shape) const;
  Tensor rows(std::int64_t first, std::int64_t count) const;  // along dim 0
};

// Uninitialised memory: a device that holds data fills it with NaN, integers with a huge negative.
Tensor allocate_tensor(
    Device& device, DType dtype, const Shape& shape, std::string_view label, Stream stream = {});

}  // namespace lockstep
