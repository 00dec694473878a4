// The product works on tiles of 4 x 8 results, which stay in registers while k runs.
#include "matrix/reference/matrix.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/errors.h"

namespace lockstep::matrix {
namespace {

constexpr std::int64_t kTileRows = 4;
constexpr std::int64_t kLanes = 4;
constexpr std::int64_t kLanesARow = kPanelColumns / kLanes;

// Neighbouring columns side by side: each lane is a sum of its own, so that no sum is reordered.
using Lanes [[gnu::vector_size(kLanes * sizeof(double))]] = double;
using Tile = std::array<double, kTileRows * kPanelColumns>;

Lanes lanes_at(const double* values) {
  Lanes lanes;
  std::memcpy(&lanes, values, sizeof(lanes));
  return lanes;
}

struct Range {
  std::int64_t first;
  std::int64_t last;  // one past it
};

// The k that can contribute to the tile whose first row is `row`.
Range contributing(ProductPart part, std::int64_t row, std::int64_t num_k) {
  switch (part) {
    case ProductPart::kAll:
    case ProductPart::kResultBelow:
      return {.first = 0, .last = num_k};
    case ProductPart::kLeftBelow:
      return {.first = 0, .last = std::min(num_k, row + kTileRows)};
    case ProductPart::kLeftAbove:
      return {.first = std::min(num_k, row), .last = num_k};
  }
  throw InternalError("unknown part of a product");
}

// Rows past the end of `a` repeat its last one; their results are dropped.
Tile product_tile(const MatrixView& a, std::int64_t row, const double* panel, Range range) {
  std::array<const double*, kTileRows> a_rows{};
  for (std::int64_t r = 0; r < kTileRows; ++r) {
    a_rows[static_cast<std::size_t>(r)] = a.values + std::min(row + r, a.rows - 1) * a.row_stride;
  }
  const auto [row_0, row_1, row_2, row_3] = a_rows;
  Lanes sums[kTileRows][kLanesARow] = {};
  for (std::int64_t k = range.first; k < range.last; ++k) {
    const std::int64_t at = k * a.column_stride;
    const double left[kTileRows] = {row_0[at], row_1[at], row_2[at], row_3[at]};
    const double* right = panel + k * kPanelColumns;
    const Lanes right_lanes[kLanesARow] = {lanes_at(right), lanes_at(right + kLanes)};
    for (std::int64_t r = 0; r < kTileRows; ++r) {
      for (std::int64_t l = 0; l < kLanesARow; ++l) sums[r][l] += left[r] * right_lanes[l];
    }
  }
  Tile tile{};
  static_assert(sizeof(tile) == sizeof(sums));
  std::memcpy(tile.data(), sums, sizeof(tile));
  return tile;
}

}  // namespace

MatrixView view(const Matrix& matrix) {
  return {.values = matrix.values.data(),
          .rows = matrix.rows,
          .columns = matrix.columns,
          .row_stride = matrix.columns};
}

MatrixView view(std::span<const double> values, std::int64_t columns) {
  const auto size = static_cast<std::int64_t>(values.size());
  LOCKSTEP_CHECK(columns > 0 && size % columns == 0,
                 "values of the reference do not make whole rows of a matrix");
  return {
      .values = values.data(), .rows = size / columns, .columns = columns, .row_stride = columns};
}

MatrixView transposed(const MatrixView& matrix) {
  return {.values = matrix.values,
          .rows = matrix.columns,
          .columns = matrix.rows,
          .row_stride = matrix.column_stride,
          .column_stride = matrix.row_stride};
}

Panels::Panels(const MatrixView& matrix)
    : rows_(matrix.rows),
      columns_(matrix.columns),
      values_(static_cast<std::size_t>((columns_ + kPanelColumns - 1) / kPanelColumns *
                                       kPanelColumns * rows_)) {
  for (std::int64_t first = 0; first < columns_; first += kPanelColumns) {
    double* panel = values_.data() + first * rows_;
    const std::int64_t width = std::min(kPanelColumns, columns_ - first);
    for (std::int64_t r = 0; r < rows_; ++r) {
      const double* source = matrix.values + r * matrix.row_stride + first * matrix.column_stride;
      for (std::int64_t j = 0; j < width; ++j) {
        panel[r * kPanelColumns + j] = source[j * matrix.column_stride];
      }
    }
  }
}

void add_product(const MatrixView& a_MK,
                 const Panels& b_KN,
                 const ProductTarget& c_MN,
                 ProductPart part) {
  LOCKSTEP_CHECK(a_MK.columns == b_KN.rows(), "the sides of a product do not fit");
  for (std::int64_t column = 0; column < b_KN.columns(); column += kPanelColumns) {
    const std::int64_t width = std::min(kPanelColumns, b_KN.columns() - column);
    for (std::int64_t row = 0; row < a_MK.rows; row += kTileRows) {
      const std::int64_t height = std::min(kTileRows, a_MK.rows - row);
      if (part == ProductPart::kResultBelow && column >= row + height) continue;
      const Tile tile =
          product_tile(a_MK, row, b_KN.panel(column), contributing(part, row, a_MK.columns));
      for (std::int64_t r = 0; r < height; ++r) {
        double* c = c_MN.values + (row + r) * c_MN.row_stride + column;
        const double* sums = tile.data() + r * kPanelColumns;
        for (std::int64_t j = 0; j < width; ++j) c[j] += sums[j];
      }
    }
  }
}

void add(Matrix& a, const Matrix& b) {
  LOCKSTEP_CHECK(a.values.size() == b.values.size(), "matrices of unequal size are added");
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values[i];
}

}  // namespace lockstep::matrix
