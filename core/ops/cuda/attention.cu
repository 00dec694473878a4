// Causal attention as products in tiles and softmaxes of rows, over all heads of all samples.
//
// S tokens, D elements of a head. What lies above the diagonal is 0 and takes part in nothing. The
// products sum in the CPU's order; the sums over a row of scores have row.cuh's fixed order.
#include <cuda_runtime_api.h>

#include <cmath>
#include <limits>

#include "core/ops/cuda/bodies.h"
#include "core/ops/cuda/element.cuh"
#include "core/ops/cuda/row.cuh"
#include "core/ops/cuda/tile.cuh"
#include "core/tensor/cuda/gpu.h"

namespace lockstep::cuda {
namespace {

// What the kernels need of the sizes.
struct Geometry {
  std::int64_t batch;
  std::int64_t num_heads;
  std::int64_t num_kv_heads;
  std::int64_t tokens;  // S
  std::int64_t head_dim;

  __host__ __device__ std::int64_t queries() const { return num_heads / num_kv_heads; }
  // Elements of all scores.
  std::int64_t num_scores() const { return batch * num_heads * tokens * tokens; }
};

Geometry geometry_of(const Buffer& q_TQ, const AttentionSizes& sizes) {
  return {.batch = sizes.batch,
          .num_heads = sizes.num_heads,
          .num_kv_heads = sizes.num_kv_heads,
          .tokens = q_TQ.count / (sizes.batch * sizes.num_heads * sizes.head_dim),
          .head_dim = sizes.head_dim};
}

// A [T, heads * D] buffer.
template <typename T>
struct Heads {
  T* first;
  std::int64_t heads;

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
  return {.first = elements<T>(buffer), .heads = geometry.num_heads};
}

template <typename T>
Heads<T> kv_heads(const Buffer& buffer, const Geometry& geometry) {
  return {.first = elements<T>(buffer), .heads = geometry.num_kv_heads};
}

// [S, D] of a sample's head.
template <typename T>
__device__ Matrix<T> head_SD(const Heads<T>& heads,
                             const Geometry& geometry,
                             std::int64_t sample,
                             std::int64_t head) {
  return {.first = heads.start(geometry, sample, head),
          .rows = geometry.tokens,
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

// A tile of one of `count` matrices of [rows, columns].
struct Unit {
  std::int64_t matrix;
  TileOrigin origin;
};

__host__ __device__ std::int64_t tiles_of(std::int64_t size) { return (size + kTile - 1) / kTile; }

__device__ Unit unit_at(std::int64_t index, std::int64_t rows, std::int64_t columns) {
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

// [S, S] of scores, or of gradients of them, of one head of one sample.
template <typename A>
__device__ Matrix<A> scores_SS(const A* scores_BHSS,
                               const Geometry& geometry,
                               std::int64_t matrix) {
  const std::int64_t tokens = geometry.tokens;
  return {.first = scores_BHSS + matrix * tokens * tokens,
          .rows = tokens,
          .columns = tokens,
          .row_stride = tokens};
}

// scores[s,u] = factor a[s] b[u] for u <= s, 0 for the others.
template <typename T>
void multiply_tokens(const LaunchTarget& target,
                     const Geometry& geometry,
                     const Heads<T>& a,
                     const Heads<T>& b,
                     Accumulated<T> factor,
                     Accumulated<T>* scores_BHSS) {
  using A = Accumulated<T>;
  const std::int64_t tokens = geometry.tokens;
  for_each_tile(
      target,
      geometry.batch * geometry.num_heads,
      tokens,
      tokens,
      [=] __device__(const Unit& unit) {
        const std::int64_t sample = unit.matrix / geometry.num_heads;
        const std::int64_t head = unit.matrix % geometry.num_heads;
        const std::int64_t s = unit.origin.row + threadIdx.y;
        const std::int64_t u = unit.origin.column + threadIdx.x;
        A score{0};
        if (unit.origin.column <= unit.origin.row) {
          const Range whole{.first = 0, .last = geometry.head_dim};
          score =
              factor * tile_product(head_SD(a, geometry, sample, head),
                                    turned(head_SD(b, geometry, sample, head / geometry.queries())),
                                    unit.origin,
                                    whole,
                                    whole);
        }
        if (s < tokens && u < tokens) {
          scores_BHSS[(unit.matrix * tokens + s) * tokens + u] = u <= s ? score : A{0};
        }
      });
}

// out[s] = sum over u <= s of weights[s,u] values[u], where the values are a kv head's.
template <typename T>
void sum_earlier_tokens(const LaunchTarget& target,
                        const Geometry& geometry,
                        const Accumulated<T>* weights_BHSS,
                        const Heads<T>& values,
                        const Heads<T>& out) {
  const std::int64_t tokens = geometry.tokens;
  for_each_tile(target,
                geometry.batch * geometry.num_heads,
                tokens,
                geometry.head_dim,
                [=] __device__(const Unit& unit) {
                  const std::int64_t sample = unit.matrix / geometry.num_heads;
                  const std::int64_t head = unit.matrix % geometry.num_heads;
                  const std::int64_t s = unit.origin.row + threadIdx.y;
                  const std::int64_t i = unit.origin.column + threadIdx.x;
                  const std::int64_t end = unit.origin.row + kTile;
                  const Accumulated<T> sum =
                      tile_product(scores_SS(weights_BHSS, geometry, unit.matrix),
                                   head_SD(values, geometry, sample, head / geometry.queries()),
                                   unit.origin,
                                   {.first = 0, .last = end < tokens ? end : tokens},
                                   {.first = 0, .last = s < tokens ? s + 1 : tokens});
                  if (s < tokens && i < geometry.head_dim) {
                    out.start(geometry, sample, head)[s * out.stride(geometry) + i] =
                        rounded<T>(sum);
                  }
                });
}

// out[u] = sum over the group's query heads, in their order, of the sum over s >= u of
// weights[s,u] rows[s], where the rows are a query head's.
template <typename T>
void sum_later_tokens(const LaunchTarget& target,
                      const Geometry& geometry,
                      const Accumulated<T>* weights_BHSS,
                      const Heads<T>& rows,
                      const Heads<T>& out) {
  using A = Accumulated<T>;
  const std::int64_t tokens = geometry.tokens;
  for_each_tile(target,
                geometry.batch * geometry.num_kv_heads,
                tokens,
                geometry.head_dim,
                [=] __device__(const Unit& unit) {
                  const std::int64_t sample = unit.matrix / geometry.num_kv_heads;
                  const std::int64_t kv = unit.matrix % geometry.num_kv_heads;
                  const std::int64_t u = unit.origin.row + threadIdx.y;
                  const std::int64_t i = unit.origin.column + threadIdx.x;
                  A sum{0};
                  for (std::int64_t query = 0; query < geometry.queries(); ++query) {
                    const std::int64_t head = kv * geometry.queries() + query;
                    const std::int64_t matrix = sample * geometry.num_heads + head;
                    sum += tile_product(turned(scores_SS(weights_BHSS, geometry, matrix)),
                                        head_SD(rows, geometry, sample, head),
                                        unit.origin,
                                        {.first = unit.origin.row, .last = tokens},
                                        {.first = u, .last = tokens});
                  }
                  if (u < tokens && i < geometry.head_dim) {
                    out.start(geometry, sample, kv)[u * out.stride(geometry) + i] = rounded<T>(sum);
                  }
                });
}

// Each row of scores becomes P[u] = exp(z[u] - max) / sum over u <= s. NaN stays.
template <typename A>
void softmax(const LaunchTarget& target, const Geometry& geometry, A* scores_BHSS) {
  const std::int64_t tokens = geometry.tokens;
  for_each_row(target,
               geometry.batch * geometry.num_heads * tokens,
               tokens,
               [=] __device__(std::int64_t row) {
                 const std::int64_t count = row % tokens + 1;
                 A* const p = scores_BHSS + row * tokens;
                 A largest = -std::numeric_limits<A>::infinity();
                 for (std::int64_t u = threadIdx.x; u < count; u += blockDim.x) {
                   largest = Larger{}(largest, p[u]);
                 }
                 largest = reduced_over_block(largest, Larger{});
                 for (std::int64_t u = threadIdx.x; u < count; u += blockDim.x) {
                   p[u] = std::exp(p[u] - largest);
                 }
                 const A sum = sum_over_block<A>(count, [&](std::int64_t u) { return p[u]; });
                 for (std::int64_t u = threadIdx.x; u < count; u += blockDim.x) p[u] = p[u] / sum;
               });
}

// From dP to dz[s,u] = scale P[s,u] (dP[s,u] - sum over w of P[s,w] dP[s,w]), in place.
template <typename A>
void softmax_backward(const LaunchTarget& target,
                      const Geometry& geometry,
                      const A* probabilities_BHSS,
                      A scale,
                      A* dscores_BHSS) {
  const std::int64_t tokens = geometry.tokens;
  for_each_row(target,
               geometry.batch * geometry.num_heads * tokens,
               tokens,
               [=] __device__(std::int64_t row) {
                 const std::int64_t count = row % tokens + 1;
                 const A* const p = probabilities_BHSS + row * tokens;
                 A* const dscores = dscores_BHSS + row * tokens;
                 const A dot =
                     sum_over_block<A>(count, [&](std::int64_t u) { return p[u] * dscores[u]; });
                 for (std::int64_t u = threadIdx.x; u < count; u += blockDim.x) {
                   dscores[u] = scale * p[u] * (dscores[u] - dot);
                 }
               });
}

// Memory for the time of the kernels enqueued while it lives.
class Scratch {
 public:
  Scratch(const LaunchTarget& target, std::int64_t num_bytes) : stream_(stream_of(target)) {
    check_cuda(cudaMallocAsync(&memory_, static_cast<std::size_t>(num_bytes), stream_),
               "allocating " + std::to_string(num_bytes) + " bytes for attention's gradients");
  }
  ~Scratch() { cudaFreeAsync(memory_, stream_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void* memory() const { return memory_; }

 private:
  cudaStream_t stream_;
  void* memory_ = nullptr;
};

template <typename T>
void attention_of(const LaunchTarget& target, const AttentionArgs& args) {
  using A = Accumulated<T>;
  const Geometry geometry = geometry_of(args.q_TQ, args.sizes);
  A* const p = elements<A>(args.probabilities_BHSS);
  multiply_tokens<T>(target,
                     geometry,
                     query_heads<T>(args.q_TQ, geometry),
                     kv_heads<T>(args.k_TK, geometry),
                     static_cast<A>(args.sizes.scale),
                     p);
  softmax<A>(target, geometry, p);
  sum_earlier_tokens<T>(
      target, geometry, p, kv_heads<T>(args.v_TK, geometry), query_heads<T>(args.out_TQ, geometry));
}

// dP[s,u] = dout[s] v[u];  dz as softmax_backward has it;  dq[s] = sum over u of dz[s,u] k[u];
// dk[u] = sum over s of dz[s,u] q[s];  dv[u] = sum over s of P[s,u] dout[s].
template <typename T>
void attention_backward_of(const LaunchTarget& target, const AttentionBackwardArgs& args) {
  using A = Accumulated<T>;
  const Geometry geometry = geometry_of(args.q_TQ, args.sizes);
  if (geometry.tokens == 0) return;
  const Scratch scratch(target, geometry.num_scores() * static_cast<std::int64_t>(sizeof(A)));
  A* const dz = static_cast<A*>(scratch.memory());
  const A* const p = elements<A>(args.probabilities_BHSS);
  const Heads<T> q = query_heads<T>(args.q_TQ, geometry);
  const Heads<T> k = kv_heads<T>(args.k_TK, geometry);
  const Heads<T> v = kv_heads<T>(args.v_TK, geometry);
  const Heads<T> dout = query_heads<T>(args.dout_TQ, geometry);
  multiply_tokens<T>(target, geometry, dout, v, A{1}, dz);
  softmax_backward<A>(target, geometry, p, static_cast<A>(args.sizes.scale), dz);
  sum_earlier_tokens<T>(target, geometry, dz, k, query_heads<T>(args.dq_TQ, geometry));
  sum_later_tokens<T>(target, geometry, dz, q, kv_heads<T>(args.dk_TK, geometry));
  sum_later_tokens<T>(target, geometry, p, dout, kv_heads<T>(args.dv_TK, geometry));
}

}  // namespace

void attention(const LaunchTarget& target, const AttentionArgs& args) {
  with_type(args.q_TQ.dtype, [&]<typename T>(ElementType<T>) { attention_of<T>(target, args); });
}

void attention_backward(const LaunchTarget& target, const AttentionBackwardArgs& args) {
  with_type(args.q_TQ.dtype,
            [&]<typename T>(ElementType<T>) { attention_backward_of<T>(target, args); });
}

}  // namespace lockstep::cuda
