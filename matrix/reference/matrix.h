// A float64 matrix and the one product that everything else is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::matrix {

struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> values;  // row-major

  Matrix() = default;
  Matrix(std::int64_t num_rows, std::int64_t num_columns)
      : rows(num_rows),
        columns(num_columns),
        values(static_cast<std::size_t>(num_rows * num_columns)) {}

  double* row(std::int64_t index) { return values.data() + index * columns; }
  const double* row(std::int64_t index) const { return values.data() + index * columns; }
};

// Reads a matrix where it lies: element (r, c) is values[r * row_stride + c * column_stride].
struct MatrixView {
  const double* values = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
};

MatrixView view(const Matrix& matrix);
// Row-major values; InternalError where their number is no multiple of `columns`.
MatrixView view(std::span<const double> values, std::int64_t columns);
MatrixView transposed(const MatrixView& matrix);

// The right side of a product, copied into panels of kPanelColumns columns: a panel's row is
// contiguous, and the last panel is filled up with zeros.
inline constexpr std::int64_t kPanelColumns = 8;

class Panels {
 public:
  explicit Panels(const MatrixView& matrix);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  const double* panel(std::int64_t first_column) const {
    return values_.data() + first_column * rows_;
  }

 private:
  std::int64_t rows_;
  std::int64_t columns_;
  std::vector<double> values_;
};

// What of c[M, N] += a[M, K] b[K, N] is computed. Causal attention needs half of each product.
enum class ProductPart {
  kAll,
  kResultBelow,  // only elements of c on and below the diagonal are of use, others are left
                 // undefined
  kLeftBelow,    // a is 0 above its diagonal
  kLeftAbove,    // a is 0 below its diagonal
};

// Where a product is added to.
struct ProductTarget {
  double* values = nullptr;
  std::int64_t row_stride = 0;
};

// c[M, N] += a[M, K] b[K, N], every element as one sum in the order of k.
void add_product(const MatrixView& a_MK,
                 const Panels& b_KN,
                 const ProductTarget& c_MN,
                 ProductPart part = ProductPart::kAll);

// a += b
void add(Matrix& a, const Matrix& b);

}  // namespace lockstep::matrix
