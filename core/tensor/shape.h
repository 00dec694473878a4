// Sizes of a tensor's dims, outermost first; at most four, held in place.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace lockstep {

class Shape {
 public:
  static constexpr int kMaxDims = 4;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes);

  int num_dims() const { return num_dims_; }
  std::int64_t operator[](int dim) const;
  void set(int dim, std::int64_t size);

  std::int64_t num_elements() const;  // 1 for a scalar
  std::int64_t row_elements() const;  // of one index of dim 0, as Tensor::rows cuts
  std::int64_t last() const;          // size of the last dim; an error for a scalar
  Shape with_last(std::int64_t size) const;
  bool operator==(const Shape&) const = default;

 private:
  std::array<std::int64_t, kMaxDims> sizes_{};
  int num_dims_ = 0;
};

std::string to_text(const Shape& shape);  // [2, 3]

}  // namespace lockstep
