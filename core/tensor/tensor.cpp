// Tensor: views and allocation. Storages are padded to whole 64-byte lines.
#include "core/tensor/tensor.h"

#include "core/base/errors.h"
#include "core/tensor/storage.h"

namespace lockstep {

Buffer Tensor::buffer() const {
  return {.storage = storage.get(), .dtype = dtype, .offset = offset, .count = num_elements()};
}

Tensor Tensor::reshaped(const Shape& new_shape) const {
  LOCKSTEP_CHECK(new_shape.num_elements() == num_elements(),
                 "cannot see " + to_text(shape) + " as " + to_text(new_shape));
  Tensor view = *this;
  view.shape = new_shape;
  return view;
}

Tensor Tensor::rows(std::int64_t first, std::int64_t count) const {
  LOCKSTEP_CHECK(first >= 0 && count >= 0 && first + count <= shape[0],
                 "rows " + std::to_string(first) + " to " + std::to_string(first + count) + " of " +
                     to_text(shape));
  Tensor view = *this;
  view.offset += first * shape.row_elements();
  view.shape.set(0, count);
  return view;
}

Tensor allocate_tensor(
    Device& device, DType dtype, const Shape& shape, std::string_view label, Stream stream) {
  constexpr auto kLine = static_cast<std::int64_t>(Storage::kAlignment);
  const std::int64_t bytes = shape.num_elements() * element_bytes(dtype);
  Tensor tensor;
  tensor.storage =
      std::make_shared<Storage>(device, (bytes + kLine - 1) / kLine * kLine, label, stream);
  tensor.dtype = dtype;
  tensor.shape = shape;
  return tensor;
}

}  // namespace lockstep
