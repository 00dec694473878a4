// The product of tiles against its definition, for sizes that fill tiles and sizes that do not.
#include "matrix/reference/matrix.h"

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "core/base/random.h"

namespace lockstep::test {
namespace {

using matrix::add_product;
using matrix::Matrix;
using matrix::Panels;
using matrix::ProductPart;

Matrix random_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  Matrix result(rows, columns);
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    // Small integers: every order of summation gives the same exact result.
    result.values[i] = static_cast<double>(random_bits(seed, stream_of("matrix"), i) % 15) - 7.0;
  }
  return result;
}

struct Sizes {
  std::int64_t m;
  std::int64_t k;
  std::int64_t n;
};
constexpr Sizes kSizes[] = {{1, 1, 1}, {4, 3, 8}, {5, 7, 9}, {3, 32, 17}, {8, 5, 16}, {13, 6, 2}};

TEST(ReferenceProduct, AddsTheDefinitionWhateverTheSizes) {
  for (const Sizes& sizes : kSizes) {
    const Matrix a = random_matrix(sizes.m, sizes.k, 1);
    const Matrix b = random_matrix(sizes.k, sizes.n, 2);
    Matrix c = random_matrix(sizes.m, sizes.n, 3);
    Matrix expected = c;
    for (std::int64_t i = 0; i < sizes.m; ++i) {
      for (std::int64_t j = 0; j < sizes.n; ++j) {
        for (std::int64_t k = 0; k < sizes.k; ++k) expected.row(i)[j] += a.row(i)[k] * b.row(k)[j];
      }
    }
    add_product(view(a), Panels(view(b)), {.values = c.values.data(), .row_stride = c.columns});
    EXPECT_EQ(c.values, expected.values);
  }
}

TEST(ReferenceProduct, OfTransposedSidesIsTheTransposedProduct) {
  for (const Sizes& sizes : kSizes) {
    const Matrix a = random_matrix(sizes.m, sizes.k, 1);
    const Matrix b = random_matrix(sizes.k, sizes.n, 2);
    Matrix c(sizes.m, sizes.n);
    Matrix turned(sizes.n, sizes.m);
    add_product(view(a), Panels(view(b)), {.values = c.values.data(), .row_stride = c.columns});
    add_product(transposed(view(b)),
                Panels(transposed(view(a))),
                {.values = turned.values.data(), .row_stride = turned.columns});
    for (std::int64_t i = 0; i < sizes.m; ++i) {
      for (std::int64_t j = 0; j < sizes.n; ++j) EXPECT_EQ(c.row(i)[j], turned.row(j)[i]);
    }
  }
}

// Zeros above the diagonal, or below it.
Matrix triangle(std::int64_t size, bool below) {
  Matrix result = random_matrix(size, size, 4);
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::int64_t j = 0; j < size; ++j) {
      if (below ? j > i : j < i) result.row(i)[j] = 0.0;
    }
  }
  return result;
}

TEST(ReferenceProduct, OfATriangleNeedsNoneOfItsZeros) {
  for (const std::int64_t size : {1, 4, 5, 9, 16}) {
    const Matrix b = random_matrix(size, 6, 5);
    for (const bool below : {true, false}) {
      const Matrix a = triangle(size, below);
      Matrix whole(size, 6);
      Matrix part(size, 6);
      add_product(view(a), Panels(view(b)), {.values = whole.values.data(), .row_stride = 6});
      add_product(view(a),
                  Panels(view(b)),
                  {.values = part.values.data(), .row_stride = 6},
                  below ? ProductPart::kLeftBelow : ProductPart::kLeftAbove);
      EXPECT_EQ(part.values, whole.values);
    }
  }
}

TEST(ReferenceProduct, BelowTheDiagonalIsTheWholeProductThere) {
  for (const std::int64_t size : {1, 4, 5, 9, 32}) {
    const Matrix a = random_matrix(size, 3, 6);
    const Matrix b = random_matrix(3, size, 7);
    Matrix whole(size, size);
    Matrix part(size, size);
    add_product(view(a), Panels(view(b)), {.values = whole.values.data(), .row_stride = size});
    add_product(view(a),
                Panels(view(b)),
                {.values = part.values.data(), .row_stride = size},
                ProductPart::kResultBelow);
    for (std::int64_t i = 0; i < size; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) EXPECT_EQ(part.row(i)[j], whole.row(i)[j]);
    }
  }
}

TEST(ReferenceProduct, RefusesSidesThatDoNotFit) {
  const Matrix a(2, 3);
  const Matrix b(4, 2);
  Matrix c(2, 2);
  EXPECT_THROW(add_product(view(a), Panels(view(b)), {.values = c.values.data(), .row_stride = 2}),
               InternalError);
  EXPECT_THROW(matrix::view(a.values, 4), InternalError);
}

}  // namespace
}  // namespace lockstep::test
