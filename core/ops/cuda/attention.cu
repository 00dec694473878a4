// Causal attention as products in tiles and softmaxes of rows, over all heads of all samples.
//
// S tokens, D elements of a head. What lies above the diagonal is 0 and takes part in nothing. The
// products sum in the CPU's order; the sums over a row of scores have row.cuh's fixed order.
#include <cmath>
#include <limits>

#include "core/ops/cuda/attention.cuh"
#include "core/ops/cuda/bodies.h"
#include "core/ops/cuda/row.cuh"

namespace lockstep::cuda {
namespace {

// scores[s,u] = factor a[s] b[u] for u <= s, 0 for the others.
template <typename T>
void multiply_tokens(const LaunchTarget& target,
                     const Geometry& geometry,
                     const Heads<T>& a,
                     const Heads<T>& b,
                     Accumulated<T> factor,
                     Accumulated<T>* scores_BHSS) {
  using A = Accumulated<T>;
  const std::int64_t tokens = geometry.query_tokens;
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
  const std::int64_t tokens = geometry.query_tokens;
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
                      tile_product(scores_SU(weights_BHSS, geometry, unit.matrix),
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
  const std::int64_t tokens = geometry.query_tokens;
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
                    sum += tile_product(turned(scores_SU(weights_BHSS, geometry, matrix)),
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
  const std::int64_t tokens = geometry.query_tokens;
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
  const std::int64_t tokens = geometry.query_tokens;
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

template <typename T>
void attention_of(const LaunchTarget& target, const AttentionArgs& args) {
  using A = Accumulated<T>;
  const Geometry geometry = geometry_of(args.q_TQ, args.k_TK, args.sizes);
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
  const Geometry geometry = geometry_of(args.q_TQ, args.k_TK, args.sizes);
  if (geometry.query_tokens == 0) return;
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
