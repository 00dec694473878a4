// Attention over one block of keys after the other, with a running log-sum-exp.
//
// S query tokens, U key tokens, D elements of a head. Pairs that do not see each other take part in
// nothing, and tiles of which none do are passed over. The products sum in the CPU's order; the sum
// over a row of scores has row.cuh's fixed order.
#include <cmath>
#include <limits>

#include "core/ops/cuda/attention.cuh"
#include "core/ops/cuda/bodies.h"
#include "core/ops/cuda/dropout.cuh"
#include "core/ops/cuda/row.cuh"

namespace lockstep::cuda {
namespace {

// A table of tokens, [3, tokens].
struct TokenTable {
  const std::int64_t* first;
  std::int64_t tokens;

  __device__ std::int64_t document(std::int64_t i) const { return first[i]; }
  __device__ std::int64_t place(std::int64_t i) const { return first[tokens + i]; }
  __device__ std::int64_t position(std::int64_t i) const { return first[2 * tokens + i]; }
};

TokenTable table_of(const Buffer& tokens_3S) {
  return {.first = elements<std::int64_t>(tokens_3S), .tokens = tokens_3S.count / 3};
}

// A pair of tokens of a head's [S, U].
struct Pair {
  std::int64_t sample;
  std::int64_t head;
  std::int64_t s;
  std::int64_t u;
};

// Which pairs see each other, and which of their probabilities are dropped.
template <typename A>
struct Pairs {
  Geometry geometry;
  TokenTable queries;
  TokenTable keys;
  std::int64_t window;
  std::int64_t first_token;
  std::int64_t seq;
  std::int64_t first_head;
  std::int64_t all_heads;
  Keeping<A> keep;

  // Nothing sees or is seen beyond the tokens.
  __device__ bool see(std::int64_t s, std::int64_t u) const {
    if (s >= queries.tokens || u >= keys.tokens) return false;
    if (queries.document(s) != keys.document(u)) return false;
    const std::int64_t distance = queries.place(s) - keys.place(u);
    return distance >= 0 && (window == 0 || distance < window);
  }
  // What dropout makes of a probability.
  __device__ A kept(const Pair& at) const {
    if (!keep.draws()) return A{1};
    const std::int64_t token = first_token + at.sample * seq + queries.position(at.s);
    return keep((token * all_heads + first_head + at.head) * seq + keys.position(at.u));
  }

  // The thread's own in a tile of a head's [S, U], which may lie beyond the tokens.
  __device__ Pair pair_of(const Unit& unit) const {
    return {.sample = unit.matrix / geometry.num_heads,
            .head = unit.matrix % geometry.num_heads,
            .s = unit.origin.row + threadIdx.y,
            .u = unit.origin.column + threadIdx.x};
  }
  __device__ bool is_inside(const Pair& at) const {
    return at.s < geometry.query_tokens && at.u < geometry.key_tokens;
  }
  // Where a pair is in [B, H, S, U], and where its query is in [T, H].
  __device__ std::int64_t score_index(const Pair& at) const {
    const std::int64_t matrix = at.sample * geometry.num_heads + at.head;
    return (matrix * geometry.query_tokens + at.s) * geometry.key_tokens + at.u;
  }
  __device__ std::int64_t query_index(const Pair& at) const {
    return (at.s * geometry.batch + at.sample) * geometry.num_heads + at.head;
  }
};

template <typename T>
Pairs<Accumulated<T>> pairs_of(const Buffer& q_TQ,
                               const Buffer& k_UK,
                               const AttentionTokens& tokens,
                               const AttentionBlock& block) {
  return {.geometry = geometry_of(q_TQ, k_UK, block.sizes),
          .queries = table_of(tokens.queries_3S),
          .keys = table_of(tokens.keys_3U),
          .window = block.window,
          .first_token = block.first_token,
          .seq = block.seq,
          .first_head = block.first_head,
          .all_heads = block.all_heads,
          .keep = keeping_of<Accumulated<T>>(block.dropout)};
}

// a[s] b[u] of the thread's pair, where a is a query head's and b its kv head's.
template <typename T>
__device__ Accumulated<T> product_of_pair(const Heads<T>& a,
                                          const Heads<T>& b,
                                          const Geometry& geometry,
                                          const Pair& at,
                                          const TileOrigin& origin) {
  const Range whole{.first = 0, .last = geometry.head_dim};
  return tile_product(head_SD(a, geometry, at.sample, at.head),
                      turned(head_SD(b, geometry, at.sample, at.head / geometry.queries())),
                      origin,
                      whole,
                      whole);
}

// z[s,u] = scale q[s] k[u] of the pairs that see each other, 0 of others in their tiles.
template <typename T>
void score_pairs(const LaunchTarget& target,
                 const Pairs<Accumulated<T>>& pairs,
                 const Heads<T>& q,
                 const Heads<T>& k,
                 Accumulated<T> scale,
                 Accumulated<T>* z_BHSU) {
  using A = Accumulated<T>;
  const Geometry& sizes = pairs.geometry;
  for_each_tile(target,
                sizes.batch * sizes.num_heads,
                sizes.query_tokens,
                sizes.key_tokens,
                [=] __device__(const Unit& unit) {
                  const Pair at = pairs.pair_of(unit);
                  const bool is_seen = pairs.see(at.s, at.u);
                  if (__syncthreads_or(is_seen) == 0) return;
                  const A z = scale * product_of_pair(q, k, pairs.geometry, at, unit.origin);
                  if (pairs.is_inside(at)) z_BHSU[pairs.score_index(at)] = is_seen ? z : A{0};
                });
}

// log(exp a + exp b). NaN stays.
template <typename A>
__device__ A log_of_sum(A a, A b) {
  const bool is_a_larger = a > b || a != a;
  const A larger = is_a_larger ? a : b;
  const A smaller = is_a_larger ? b : a;
  if (larger == -std::numeric_limits<A>::infinity()) return larger;
  return larger + std::log1p(std::exp(smaller - larger));
}

// Per row, with what of z is seen: lse' = log(exp lse + sum over u of exp z[u]), each z[u] becomes
// exp(z[u] - lse') D[u], and out exp(lse - lse') out. NaN stays; so does a row that sees nothing.
template <typename A>
void merge_rows(
    const LaunchTarget& target, const Pairs<A>& pairs, A* z_BHSU, A* lse_TH, const Heads<A>& out) {
  const Geometry& sizes = pairs.geometry;
  for_each_row(target,
               sizes.batch * sizes.num_heads * sizes.query_tokens,
               std::max(sizes.key_tokens, sizes.head_dim),
               [=] __device__(std::int64_t row) {
                 const Geometry& geometry = pairs.geometry;
                 const std::int64_t matrix = row / geometry.query_tokens;
                 const Pair query{.sample = matrix / geometry.num_heads,
                                  .head = matrix % geometry.num_heads,
                                  .s = row % geometry.query_tokens,
                                  .u = 0};
                 A* const z = z_BHSU + row * geometry.key_tokens;
                 A* const lse = lse_TH + pairs.query_index(query);
                 const A before = *lse;
                 A largest = -std::numeric_limits<A>::infinity();
                 bool is_any_seen = false;
                 for (std::int64_t u = threadIdx.x; u < geometry.key_tokens; u += blockDim.x) {
                   if (!pairs.see(query.s, u)) continue;
                   is_any_seen = true;
                   largest = Larger{}(largest, z[u]);
                 }
                 if (__syncthreads_or(is_any_seen) == 0) return;
                 largest = reduced_over_block(largest, Larger{});
                 const A sum = sum_over_block<A>(geometry.key_tokens, [&](std::int64_t u) {
                   return pairs.see(query.s, u) ? std::exp(z[u] - largest) : A{0};
                 });
                 const A after = log_of_sum(before, largest + std::log(sum));
                 for (std::int64_t u = threadIdx.x; u < geometry.key_tokens; u += blockDim.x) {
                   if (!pairs.see(query.s, u)) continue;
                   Pair at = query;
                   at.u = u;
                   z[u] = std::exp(z[u] - after) * pairs.kept(at);
                 }
                 A* const out_D =
                     out.start(geometry, query.sample, query.head) + query.s * out.stride(geometry);
                 const A rest = std::exp(before - after);
                 for (std::int64_t i = threadIdx.x; i < geometry.head_dim; i += blockDim.x) {
                   out_D[i] *= rest;
                 }
                 // All have read it: __syncthreads_or came between.
                 if (threadIdx.x == 0) *lse = after;
               });
}

// out[s] += sum over the u seen of weights[s,u] values[u], where the values are a kv head's.
template <typename T>
void add_seen_values(const LaunchTarget& target,
                     const Pairs<Accumulated<T>>& pairs,
                     const Accumulated<T>* weights_BHSU,
                     const Heads<T>& values,
                     const Heads<Accumulated<T>>& out) {
  using A = Accumulated<T>;
  const Geometry& sizes = pairs.geometry;
  for_each_tile(target,
                sizes.batch * sizes.num_heads,
                sizes.query_tokens,
                sizes.head_dim,
                [=] __device__(const Unit& unit) {
                  const Geometry& geometry = pairs.geometry;
                  const std::int64_t sample = unit.matrix / geometry.num_heads;
                  const std::int64_t head = unit.matrix % geometry.num_heads;
                  const std::int64_t s = unit.origin.row + threadIdx.y;
                  const std::int64_t i = unit.origin.column + threadIdx.x;
                  const PartialSum<A> seen = masked_tile_product(
                      scores_SU(weights_BHSU, geometry, unit.matrix),
                      head_SD(values, geometry, sample, head / geometry.queries()),
                      unit.origin,
                      [&](std::int64_t row, std::int64_t u) { return pairs.see(row, u); });
                  if (seen.has_terms && i < geometry.head_dim) {
                    out.start(geometry, sample, head)[s * out.stride(geometry) + i] += seen.sum;
                  }
                });
}

// out[u] += sum over the group's query heads, in their order, of the sum over the s that see u of
// weights[s,u] rows[s], where the rows are a query head's.
template <typename T>
void add_seeing_rows(const LaunchTarget& target,
                     const Pairs<Accumulated<T>>& pairs,
                     const Accumulated<T>* weights_BHSU,
                     const Heads<T>& rows,
                     const Heads<Accumulated<T>>& out) {
  using A = Accumulated<T>;
  const Geometry& sizes = pairs.geometry;
  for_each_tile(target,
                sizes.batch * sizes.num_kv_heads,
                sizes.key_tokens,
                sizes.head_dim,
                [=] __device__(const Unit& unit) {
                  const Geometry& geometry = pairs.geometry;
                  const std::int64_t sample = unit.matrix / geometry.num_kv_heads;
                  const std::int64_t kv = unit.matrix % geometry.num_kv_heads;
                  const std::int64_t u = unit.origin.row + threadIdx.y;
                  const std::int64_t i = unit.origin.column + threadIdx.x;
                  PartialSum<A> all;
                  for (std::int64_t query = 0; query < geometry.queries(); ++query) {
                    const std::int64_t head = kv * geometry.queries() + query;
                    const std::int64_t matrix = sample * geometry.num_heads + head;
                    const PartialSum<A> of_head = masked_tile_product(
                        turned(scores_SU(weights_BHSU, geometry, matrix)),
                        head_SD(rows, geometry, sample, head),
                        unit.origin,
                        [&](std::int64_t row, std::int64_t s) { return pairs.see(s, row); });
                    all.sum += of_head.sum;
                    all.has_terms = all.has_terms || of_head.has_terms;
                  }
                  if (all.has_terms && i < geometry.head_dim) {
                    out.start(geometry, sample, kv)[u * out.stride(geometry) + i] += all.sum;
                  }
                });
}

// What the backward pass knows of the softmax, by query, and makes of the pairs.
template <typename A>
struct PairGradients {
  const A* lse_TH;
  const A* delta_TH;
  A* dropped_p_BHSU;  // P D
  A* dz_BHSU;
};

// P[s,u] = exp(scale q[s] k[u] - lse[s]) of the pairs that see each other;
// dz[s,u] = scale P (D dout[s] v[u] - delta[s]). Both 0 of others in their tiles.
template <typename T>
void differentiate_pairs(const LaunchTarget& target,
                         const AttentionBlockBackwardArgs& args,
                         const Pairs<Accumulated<T>>& pairs,
                         const PairGradients<Accumulated<T>>& gradients) {
  using A = Accumulated<T>;
  const Geometry& sizes = pairs.geometry;
  const Heads<T> q = query_heads<T>(args.q_TQ, sizes);
  const Heads<T> k = kv_heads<T>(args.k_UK, sizes);
  const Heads<T> v = kv_heads<T>(args.v_UK, sizes);
  const Heads<T> dout = query_heads<T>(args.dout_TQ, sizes);
  const A scale = static_cast<A>(args.block.sizes.scale);
  for_each_tile(target,
                sizes.batch * sizes.num_heads,
                sizes.query_tokens,
                sizes.key_tokens,
                [=] __device__(const Unit& unit) {
                  const Pair at = pairs.pair_of(unit);
                  const bool is_seen = pairs.see(at.s, at.u);
                  if (__syncthreads_or(is_seen) == 0) return;
                  const A z = scale * product_of_pair(q, k, pairs.geometry, at, unit.origin);
                  const A dp = product_of_pair(dout, v, pairs.geometry, at, unit.origin);
                  A dropped_p{0};
                  A dz{0};
                  if (is_seen) {
                    const std::int64_t query = pairs.query_index(at);
                    const A p = std::exp(z - gradients.lse_TH[query]);
                    const A kept = pairs.kept(at);
                    dropped_p = p * kept;
                    dz = scale * p * (kept * dp - gradients.delta_TH[query]);
                  }
                  if (!pairs.is_inside(at)) return;
                  gradients.dropped_p_BHSU[pairs.score_index(at)] = dropped_p;
                  gradients.dz_BHSU[pairs.score_index(at)] = dz;
                });
}

template <typename T>
void attention_block_of(const LaunchTarget& target, const AttentionBlockArgs& args) {
  using A = Accumulated<T>;
  const Pairs<A> pairs = pairs_of<T>(args.q_TQ, args.k_UK, args.tokens, args.block);
  const Geometry& sizes = pairs.geometry;
  if (sizes.num_scores() == 0) return;
  const Scratch scratch(target, sizes.num_scores() * static_cast<std::int64_t>(sizeof(A)));
  A* const scores = static_cast<A*>(scratch.memory());
  const Heads<A> out = query_heads<A>(args.out_TQ, sizes);
  score_pairs<T>(target,
                 pairs,
                 query_heads<T>(args.q_TQ, sizes),
                 kv_heads<T>(args.k_UK, sizes),
                 static_cast<A>(args.block.sizes.scale),
                 scores);
  merge_rows<A>(target, pairs, scores, elements<A>(args.lse_TH), out);
  add_seen_values<T>(target, pairs, scores, kv_heads<T>(args.v_UK, sizes), out);
}

template <typename T>
void attention_block_backward_of(const LaunchTarget& target,
                                 const AttentionBlockBackwardArgs& args) {
  using A = Accumulated<T>;
  const Pairs<A> pairs = pairs_of<T>(args.q_TQ, args.k_UK, args.tokens, args.block);
  const Geometry& sizes = pairs.geometry;
  const std::int64_t num_scores = sizes.num_scores();
  if (num_scores == 0) return;
  const Scratch scratch(target, 2 * num_scores * static_cast<std::int64_t>(sizeof(A)));
  A* const dropped_p = static_cast<A*>(scratch.memory());
  A* const dz = dropped_p + num_scores;
  differentiate_pairs<T>(target,
                         args,
                         pairs,
                         {.lse_TH = elements<A>(args.lse_TH),
                          .delta_TH = elements<A>(args.delta_TH),
                          .dropped_p_BHSU = dropped_p,
                          .dz_BHSU = dz});
  const Heads<T> q = query_heads<T>(args.q_TQ, sizes);
  const Heads<T> k = kv_heads<T>(args.k_UK, sizes);
  const Heads<T> dout = query_heads<T>(args.dout_TQ, sizes);
  add_seen_values<T>(target, pairs, dz, k, query_heads<A>(args.dq_TQ, sizes));
  add_seeing_rows<T>(target, pairs, dz, q, kv_heads<A>(args.dk_UK, sizes));
  add_seeing_rows<T>(target, pairs, dropped_p, dout, kv_heads<A>(args.dv_UK, sizes));
}

}  // namespace

void attention_block(const LaunchTarget& target, const AttentionBlockArgs& args) {
  with_type(args.q_TQ.dtype,
            [&]<typename T>(ElementType<T>) { attention_block_of<T>(target, args); });
}

void attention_block_backward(const LaunchTarget& target, const AttentionBlockBackwardArgs& args) {
  with_type(args.q_TQ.dtype,
            [&]<typename T>(ElementType<T>) { attention_block_backward_of<T>(target, args); });
}

}  // namespace lockstep::cuda
