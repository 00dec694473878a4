// Products of small matrices, tile by tile through shared memory: a block a tile of the result, a
// thread an element, each summed in the order of the summed index as on the CPU.
#pragma once

#include <cstdint>

#include "core/ops/cuda/element.cuh"

namespace lockstep::cuda {

inline constexpr int kTile = 16;

// Elements of a matrix, one of whose strides is 1.
template <typename T>
struct Matrix {
  const T* first = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
};

// The summed indices of an element of a product: what lies outside takes no part, be it NaN.
struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;  // one beyond
};

// A tile with a column more, so that neither its rows nor its columns share a bank.
template <typename A>
using Tile = A[kTile][kTile + 1];

// Loaded along the stride of 1; zeros beyond the matrix.
template <typename T>
__device__ void load_tile(const Matrix<T>& matrix,
                          std::int64_t first_row,
                          std::int64_t first_column,
                          Tile<Accumulated<T>>& tile) {
  const bool along_row = matrix.column_stride == 1;
  const unsigned i = along_row ? threadIdx.y : threadIdx.x;
  const unsigned j = along_row ? threadIdx.x : threadIdx.y;
  const std::int64_t row = first_row + i;
  const std::int64_t column = first_column + j;
  const bool inside = row < matrix.rows && column < matrix.columns;
  tile[i][j] = inside
                   ? widened(matrix.first[row * matrix.row_stride + column * matrix.column_stride])
                   : Accumulated<T>{0};
}

// Where a block's tile of a product begins.
struct TileOrigin {
  std::int64_t row = 0;
  std::int64_t column = 0;
};

// The thread's element [origin.row + threadIdx.y, origin.column + threadIdx.x] of a b, summed over
// `range`, which lies in the block's `all`. All threads of a block of kTile x kTile call it.
template <typename TA, typename TB>
__device__ Accumulated<TA> tile_product(const Matrix<TA>& a,
                                        const Matrix<TB>& b,
                                        const TileOrigin& origin,
                                        const Range& all,
                                        const Range& range) {
  using A = Accumulated<TA>;
  __shared__ Tile<A> a_tile;
  __shared__ Tile<A> b_tile;
  A sum{0};
  for (std::int64_t base = all.first / kTile * kTile; base < all.last; base += kTile) {
    __syncthreads();  // the last tiles have been read
    load_tile(a, origin.row, base, a_tile);
    load_tile(b, base, origin.column, b_tile);
    __syncthreads();
    if (range.first <= base && base + kTile <= range.last) {
#pragma unroll
      for (int i = 0; i < kTile; ++i) sum += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
    } else {
      const std::int64_t first = range.first > base ? range.first - base : 0;
      const std::int64_t last = range.last - base < kTile ? range.last - base : kTile;
      for (std::int64_t i = first; i < last; ++i) {
        sum += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
      }
    }
  }
  return sum;
}

// A sum and whether anything took part in it: a sum of nothing must leave its element as it is.
template <typename A>
struct PartialSum {
  A sum{0};
  bool has_terms = false;
};

// As tile_product over the whole summed index, of which only those i take part, be the others NaN,
// that takes_part(row of the result, i) names; it answers for indices beyond the matrices too. Runs
// of neighbours that take part are summed each for itself, as the CPU does. Tiles in which nothing
// takes part are not loaded. Half a warp has the threads of a row, so that they learn of each
// other's answers by a ballot.
template <typename TA, typename TB, typename TakesPart>
__device__ PartialSum<Accumulated<TA>> masked_tile_product(const Matrix<TA>& a,
                                                           const Matrix<TB>& b,
                                                           const TileOrigin& origin,
                                                           TakesPart takes_part) {
  using A = Accumulated<TA>;
  static_assert(kTile == 16, "two rows of threads are a warp");
  constexpr unsigned kAll = (1U << kTile) - 1U;
  __shared__ Tile<A> a_tile;
  __shared__ Tile<A> b_tile;
  PartialSum<A> result;
  A run{0};
  for (std::int64_t base = 0; base < a.columns; base += kTile) {
    const bool takes = takes_part(origin.row + threadIdx.y, base + threadIdx.x);
    const unsigned of_row = (__ballot_sync(0xffffffffU, takes) >> (threadIdx.y % 2 * kTile)) & kAll;
    if (__syncthreads_or(takes) == 0) {  // and the last tiles have been read
      result.sum += run;
      run = A{0};
      continue;
    }
    load_tile(a, origin.row, base, a_tile);
    load_tile(b, base, origin.column, b_tile);
    __syncthreads();
    if (of_row == kAll) {
#pragma unroll
      for (int i = 0; i < kTile; ++i) run += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
    } else {
      for (int i = 0; i < kTile; ++i) {
        if ((of_row >> i & 1U) != 0) {
          run += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
        } else {
          result.sum += run;
          run = A{0};
        }
      }
    }
    result.has_terms = result.has_terms || of_row != 0;
  }
  result.sum += run;
  return result;
}

}  // namespace lockstep::cuda
