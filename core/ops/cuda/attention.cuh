// Heads of samples in rows of tokens, the tiles of matrices that they make, and scratch memory:
// what the kernels of attention share.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/ops/attention_args.h"
#include "core/ops/cuda/element.cuh"
#include "core/ops/cuda/tile.cuh"
#include "core/tensor/cuda/gpu.h"

namespace lockstep::cuda {

// What the kernels need of the sizes.
struct Geometry {
  std::int64_t batch;
  std::int64_t num_heads;
  std::int64_t num_kv_heads;
  std::int64_t query_tokens;  // S
  std::int64_t key_tokens;    // U, which is S where sequences are whole
  std::int64_t head_dim;

  __host__ __device__ std::int64_t queries() const { return num_heads / num_kv_heads; }
  // Elements of all scores.
  std::int64_t num_scores() const { return batch * num_heads * query_tokens * key_tokens; }
};

inline Geometry geometry_of(const Buffer& q_TQ, const Buffer& k_UK, const AttentionSizes& sizes) {
  return {.batch = sizes.batch,
          .num_heads = sizes.num_heads,
          .num_kv_heads = sizes.num_kv_heads,
          .query_tokens = q_TQ.count / (sizes.batch * sizes.num_heads * sizes.head_dim),
          .key_tokens = k_UK.count / (sizes.batch * sizes.num_kv_heads * sizes.head_dim),
          .head_dim = sizes.head_dim};
}

// A [tokens * batch, heads * D] buffer.
template <typename T>
struct Heads {
  T* first;
  std::int64_t heads;
  std::int64_t tokens;

  // Where token 0 of a sample's head begins, and how far it is from a token to the next.
  __device__ T* start(const Geometry& geometry, std::int64_t sample, std::int64_t head) const {
    return first + (sample * heads + head) * geometry.head_dim;
  }
  __device__ std::int64_t stride(const Geometry& geometry) const {
    return geometry.batch * heads * geometry.head_dim;
  }
};

template <typename T>
Heads<T> query_heads(const Buffer& buffer, const Geometry& geometry) {
  return {
      .first = elements<T>(buffer), .heads = geometry.num_heads, .tokens = geometry.query_tokens};
}

template <typename T>
Heads<T> kv_heads(const Buffer& buffer, const Geometry& geometry) {
  return {
      .first = elements<T>(buffer), .heads = geometry.num_kv_heads, .tokens = geometry.key_tokens};
}

// [tokens, D] of a sample's head.
template <typename T>
__device__ Matrix<T> head_SD(const Heads<T>& heads,
                             const Geometry& geometry,
                             std::int64_t sample,
                             std::int64_t head) {
  return {.first = heads.start(geometry, sample, head),
          .rows = heads.tokens,
          .columns = geometry.head_dim,
          .row_stride = heads.stride(geometry)};
}

template <typename T>
__device__ Matrix<T> turned(const Matrix<T>& matrix) {
  return {.first = matrix.first,
          .rows = matrix.columns,
          .columns = matrix.rows,
          .row_stride = matrix.column_stride,
          .column_stride = matrix.row_stride};
}

// [S, U] of scores, or of gradients of them, of one head of one sample.
template <typename A>
__device__ Matrix<A> scores_SU(const A* scores_BHSU,
                               const Geometry& geometry,
                               std::int64_t matrix) {
  return {.first = scores_BHSU + matrix * geometry.query_tokens * geometry.key_tokens,
          .rows = geometry.query_tokens,
          .columns = geometry.key_tokens,
          .row_stride = geometry.key_tokens};
}

// A tile of one of `count` matrices of [rows, columns].
struct Unit {
  std::int64_t matrix;
  TileOrigin origin;
};

__host__ __device__ inline std::int64_t tiles_of(std::int64_t size) {
  return (size + kTile - 1) / kTile;
}

__device__ inline Unit unit_at(std::int64_t index, std::int64_t rows, std::int64_t columns) {
  const std::int64_t across = tiles_of(columns);
  const std::int64_t down = tiles_of(rows);
  return {.matrix = index / across / down,
          .origin = {.row = index / across % down * kTile, .column = index % across * kTile}};
}

// Calls body(unit) in a block of kTile x kTile threads for each tile of `count` matrices.
template <typename Body>
__global__ void __launch_bounds__(kTile* kTile)
    each_tile_kernel(std::int64_t num_units, std::int64_t rows, std::int64_t columns, Body body) {
  for (std::int64_t i = blockIdx.x; i < num_units; i += gridDim.x) body(unit_at(i, rows, columns));
}

template <typename Body>
void for_each_tile(const LaunchTarget& target,
                   std::int64_t count,
                   std::int64_t rows,
                   std::int64_t columns,
                   Body body) {
  constexpr std::int64_t kMaxBlocks = 1 << 20;
  const std::int64_t num_units = count * tiles_of(rows) * tiles_of(columns);
  if (num_units == 0) return;
  each_tile_kernel<<<static_cast<unsigned>(std::min(num_units, kMaxBlocks)),
                     dim3(kTile, kTile),
                     0,
                     stream_of(target)>>>(num_units, rows, columns, body);
}

// Memory for the time of the kernels enqueued while it lives.
class Scratch {
 public:
  Scratch(const LaunchTarget& target, std::int64_t num_bytes) : stream_(stream_of(target)) {
    check_cuda(cudaMallocAsync(&memory_, static_cast<std::size_t>(num_bytes), stream_),
               "allocating " + std::to_string(num_bytes) + " bytes for attention's scores");
  }
  ~Scratch() { cudaFreeAsync(memory_, stream_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void* memory() const { return memory_; }

 private:
  cudaStream_t stream_;
  void* memory_ = nullptr;
};

}  // namespace lockstep::cuda
