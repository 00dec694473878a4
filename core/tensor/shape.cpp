// Shape: sizes of dims with the checks that an index and a count need.
#include "core/tensor/shape.h"

#include "core/base/errors.h"

namespace lockstep {

Shape::Shape(std::initializer_list<std::int64_t> sizes) {
  LOCKSTEP_CHECK(sizes.size() <= kMaxDims, "a tensor has at most four dims");
  for (const std::int64_t size : sizes) {
    LOCKSTEP_CHECK(size >= 0, "a dim cannot have a negative size");
    sizes_[static_cast<std::size_t>(num_dims_++)] = size;
  }
}

std::int64_t Shape::operator[](int dim) const {
  LOCKSTEP_CHECK(dim >= 0 && dim < num_dims_,
                 "dim " + std::to_string(dim) + " of shape " + to_text(*this));
  return sizes_[static_cast<std::size_t>(dim)];
}

void Shape::set(int dim, std::int64_t size) {
  LOCKSTEP_CHECK(dim >= 0 && dim < num_dims_ && size >= 0,
                 "cannot set dim " + std::to_string(dim) + " of shape " + to_text(*this));
  sizes_[static_cast<std::size_t>(dim)] = size;
}

std::int64_t Shape::num_elements() const {
  std::int64_t product = 1;
  for (int dim = 0; dim < num_dims_; ++dim) product *= sizes_[static_cast<std::size_t>(dim)];
  return product;
}

std::int64_t Shape::row_elements() const {
  std::int64_t product = 1;
  for (int dim = 1; dim < num_dims_; ++dim) product *= sizes_[static_cast<std::size_t>(dim)];
  return product;
}

std::int64_t Shape::last() const { return (*this)[num_dims_ - 1]; }

Shape Shape::with_last(std::int64_t size) const {
  Shape shape = *this;
  shape.set(num_dims_ - 1, size);
  return shape;
}

std::string to_text(const Shape& shape) {
  std::string text = "[";
  for (int dim = 0; dim < shape.num_dims(); ++dim) {
    text += (dim == 0 ? "" : ", ") + std::to_string(shape[dim]);
  }
  return text + "]";
}

}  // namespace lockstep
