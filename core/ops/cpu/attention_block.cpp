// Attention over a block of keys, head by head of each sample, merged into what other blocks gave.
//
// S query tokens, U key tokens, D elements of a head. Keys that a query does not see take part in
// nothing.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "core/ops/cpu/bodies.h"
#include "core/ops/cpu/drop.h"
#include "core/ops/cpu/element.h"
#include "core/ops/cpu/head.h"
#include "core/ops/cpu/panel.h"
#include "core/ops/cpu/sight.h"

namespace lockstep::cpu {
namespace {

std::int64_t num_tokens(const Buffer& table_3S) { return table_3S.count / 3; }

// One query head of one sample.
struct BlockPlace {
  const AttentionBlock& block;
  const std::int64_t* query_positions;
  const std::int64_t* key_positions;
  HeadIndex query;
  HeadIndex kv;

  // Of statistics [T, heads].
  std::int64_t statistic(std::int64_t s) const {
    return (s * block.sizes.batch + query.sample) * block.sizes.num_heads + query.head;
  }
  // Index of the probability of key 0 of the sample, for dropout.
  std::int64_t first_probability(std::int64_t s) const {
    const std::int64_t token = block.first_token + query.sample * block.seq + query_positions[s];
    return (token * block.all_heads + block.first_head + query.head) * block.seq;
  }
};

BlockPlace place_of(const AttentionBlock& block,
                    const AttentionTokens& tokens,
                    std::int64_t index) {
  const AttentionSizes& sizes = block.sizes;
  const HeadIndex query{.sample = index / sizes.num_heads, .head = index % sizes.num_heads};
  const std::int64_t queries = sizes.num_heads / sizes.num_kv_heads;
  return {.block = block,
          .query_positions =
              elements<std::int64_t>(tokens.queries_3S) + 2 * num_tokens(tokens.queries_3S),
          .key_positions = elements<std::int64_t>(tokens.keys_3U) + 2 * num_tokens(tokens.keys_3U),
          .query = query,
          .kv = {.sample = query.sample, .head = query.head / queries}};
}

// out[u] = factor x[s] keys[u] for the keys of the runs, where they lie.
template <typename A>
void products_of_runs(const Panel<A>& keys_DU,
                      const A* x,
                      std::int64_t head_dim,
                      std::span<const Run> runs,
                      A factor,
                      std::vector<A>& scratch,
                      A* out) {
  for (const Run& run : runs) {
    const std::int64_t first = run.first / kBlock * kBlock;
    std::fill(scratch.begin() + first, scratch.begin() + whole_blocks(run.end), A{0});
    add_rows_between<A>(
        {.panel = keys_DU, .count = head_dim, .weights = x}, run.first, run.end, scratch.data());
    for (std::int64_t u = run.first; u < run.end; ++u) {
      out[u] = factor * scratch[static_cast<std::size_t>(u)];
    }
  }
}

// out[j] += sum over the runs' u of weights[u] rows[u][j].
template <typename A>
void add_runs(const Panel<A>& rows_UD,
              const A* weights,
              std::int64_t weight_stride,
              std::span<const Run> runs,
              std::int64_t head_dim,
              A* out) {
  for (const Run& run : runs) {
    add_rows<A>({.panel = rows_UD,
                 .first = run.first,
                 .count = run.end - run.first,
                 .weights = weights + run.first * weight_stride,
                 .weight_stride = weight_stride},
                head_dim,
                out);
  }
}

// What dropout multiplies the probabilities of one query by, where it sees keys.
template <typename A>
void draw_factors(const BlockPlace& place, std::int64_t s, std::span<const Run> runs, A* factors) {
  const Dropout dropout = place.block.dropout;
  const std::int64_t first = place.first_probability(s);
  for (const Run& run : runs) {
    for (std::int64_t u = run.first; u < run.end; ++u) {
      factors[u] = drop_factor<A>(dropout, first + place.key_positions[u]);
    }
  }
}

// log(exp a + exp b). NaN stays.
template <typename A>
A log_of_sum(A a, A b) {
  const A larger = a > b ? a : b;
  const A smaller = a > b ? b : a;
  if (smaller == -std::numeric_limits<A>::infinity()) return larger;
  return larger + std::log1p(std::exp(smaller - larger));
}

// Of one query: z[u] becomes exp(z[u] - largest) over the runs. NaN stays, in the sum.
template <typename A>
struct Exponentials {
  A largest;
  A sum;
};
template <typename A>
Exponentials<A> exponentials_of(std::span<const Run> runs, A* z) {
  A largest = z[runs[0].first];
  for (const Run& run : runs) {
    for (std::int64_t u = run.first; u < run.end; ++u) {
      largest = std::max(largest, z[u]);
    }
  }
  A sum{0};
  for (const Run& run : runs) {
    for (std::int64_t u = run.first; u < run.end; ++u) {
      z[u] = std::exp(z[u] - largest);
      sum += z[u];
    }
  }
  return {.largest = largest, .sum = sum};
}

// Scratch of the forward pass, of one query head and of the kv head it reads.
template <typename A>
struct ForwardPanels {
  ForwardPanels(std::int64_t s, std::int64_t u, std::int64_t d)
      : q_SD(s, d),
        k_DU(d, u),
        v_UD(u, d),
        sum_D(1, d),
        scratch(static_cast<std::size_t>(whole_blocks(u))),
        z(scratch.size()),
        factors(scratch.size()) {}

  Panel<A> q_SD;
  Panel<A> k_DU;
  Panel<A> v_UD;
  Panel<A> sum_D;
  std::vector<A> scratch;
  std::vector<A> z;
  std::vector<A> factors;
};

// Merges the keys that one query sees, at least one, into its log-sum-exp and its output.
template <typename A>
void merge_query(const BlockPlace& place,
                 std::int64_t s,
                 std::span<const Run> runs,
                 ForwardPanels<A>& panels,
                 A& lse,
                 A* out) {
  const AttentionSizes& sizes = place.block.sizes;
  const std::int64_t d = sizes.head_dim;
  A* const z = panels.z.data();
  products_of_runs<A>(
      panels.k_DU, panels.q_SD.row(s), d, runs, static_cast<A>(sizes.scale), panels.scratch, z);
  const Exponentials<A> own = exponentials_of(runs, z);
  const A merged = log_of_sum<A>(lse, own.largest + std::log(own.sum));
  const A before = std::exp(lse - merged);
  const A now = std::exp(own.largest - merged);
  lse = merged;
  if (place.block.dropout.probability > 0.0) {
    draw_factors<A>(place, s, runs, panels.factors.data());
    for (const Run& run : runs) {
      for (std::int64_t u = run.first; u < run.end; ++u) {
        z[u] *= panels.factors[static_cast<std::size_t>(u)];
      }
    }
  }
  panels.sum_D.clear();
  add_runs<A>(panels.v_UD, z, 1, runs, d, panels.sum_D.row(0));
  for (std::int64_t i = 0; i < d; ++i) out[i] = before * out[i] + now * panels.sum_D.row(0)[i];
}

template <typename T>
void attention_block_of(const AttentionBlockArgs& args) {
  using A = Accumulated<T>;
  const AttentionSizes& sizes = args.block.sizes;
  const std::int64_t tokens = num_tokens(args.tokens.queries_3S);
  const std::int64_t keys = num_tokens(args.tokens.keys_3U);
  const std::int64_t queries = sizes.num_heads / sizes.num_kv_heads;
  const Sight sight = Sight::of_queries(args.tokens, args.block.window);
  ForwardPanels<A> panels(tokens, keys, sizes.head_dim);
  for (std::int64_t index = 0; index < sizes.batch * sizes.num_heads; ++index) {
    const BlockPlace place = place_of(args.block, args.tokens, index);
    if (place.query.head % queries == 0) {
      pack_turned(head_of<T>(args.k_UK, sizes, keys, place.kv), panels.k_DU);
      pack(head_of<T>(args.v_UK, sizes, keys, place.kv), panels.v_UD);
    }
    pack(head_of<T>(args.q_TQ, sizes, tokens, place.query), panels.q_SD);
    const Head<A> out = head_of<A>(args.out_TQ, sizes, tokens, place.query);
    for (std::int64_t s = 0; s < tokens; ++s) {
      if (sight[s].empty()) continue;
      A& lse = elements<A>(args.lse_TH)[place.statistic(s)];
      merge_query<A>(place, s, sight[s], panels, lse, out.first + s * out.stride);
    }
  }
}

// Scratch of the backward pass, of one query head and of the kv head it reads.
template <typename A>
struct BackwardPanels {
  BackwardPanels(std::int64_t s, std::int64_t u, std::int64_t d)
      : q_SD(s, d),
        dout_SD(s, d),
        dq_SD(s, d),
        k_DU(d, u),
        k_UD(u, d),
        v_DU(d, u),
        dk_UD(u, d),
        dv_UD(u, d),
        dz_SU(s, u),
        kept_SU(s, u),
        scratch(static_cast<std::size_t>(whole_blocks(u))),
        dp(scratch.size()),
        factors(scratch.size(), A{1}) {}

  Panel<A> q_SD;
  Panel<A> dout_SD;
  Panel<A> dq_SD;
  Panel<A> k_DU;
  Panel<A> k_UD;
  Panel<A> v_DU;
  Panel<A> dk_UD;  // summed over the query heads of the group, as dv
  Panel<A> dv_UD;
  Panel<A> dz_SU;
  Panel<A> kept_SU;  // probabilities after dropout
  std::vector<A> scratch;
  std::vector<A> dp;
  std::vector<A> factors;
};

// dz and the kept probabilities of one query, where it sees keys.
template <typename A>
void score_gradients(const BlockPlace& place,
                     std::int64_t s,
                     std::span<const Run> runs,
                     A lse,
                     A delta,
                     BackwardPanels<A>& panels) {
  const std::int64_t d = place.block.sizes.head_dim;
  const A scale = static_cast<A>(place.block.sizes.scale);
  A* const z = panels.dz_SU.row(s);
  A* const kept = panels.kept_SU.row(s);
  A* const dp = panels.dp.data();
  A* const factors = panels.factors.data();
  products_of_runs<A>(panels.k_DU, panels.q_SD.row(s), d, runs, scale, panels.scratch, z);
  products_of_runs<A>(panels.v_DU, panels.dout_SD.row(s), d, runs, A{1}, panels.scratch, dp);
  if (place.block.dropout.probability > 0.0) draw_factors<A>(place, s, runs, factors);
  for (const Run& run : runs) {
    for (std::int64_t u = run.first; u < run.end; ++u) {
      const A p = std::exp(z[u] - lse);
      kept[u] = p * factors[u];
      z[u] = scale * p * (factors[u] * dp[u] - delta);
    }
  }
}

template <typename A>
void add_panel(const Panel<A>& panel, const Head<A>& head) {
  for (std::int64_t t = 0; t < head.tokens; ++t) {
    A* const to = head.first + t * head.stride;
    for (std::int64_t i = 0; i < head.head_dim; ++i) to[i] += panel.row(t)[i];
  }
}

template <typename T>
void attention_block_backward_of(const AttentionBlockBackwardArgs& args) {
  using A = Accumulated<T>;
  const AttentionSizes& sizes = args.block.sizes;
  const std::int64_t d = sizes.head_dim;
  const std::int64_t tokens = num_tokens(args.tokens.queries_3S);
  const std::int64_t keys = num_tokens(args.tokens.keys_3U);
  const std::int64_t queries = sizes.num_heads / sizes.num_kv_heads;
  const Sight seen_by_query = Sight::of_queries(args.tokens, args.block.window);
  const Sight seen_from_key = Sight::of_keys(args.tokens, args.block.window);
  BackwardPanels<A> panels(tokens, keys, d);
  for (std::int64_t index = 0; index < sizes.batch * sizes.num_heads; ++index) {
    const BlockPlace place = place_of(args.block, args.tokens, index);
    if (place.query.head % queries == 0) {
      pack_turned(head_of<T>(args.k_UK, sizes, keys, place.kv), panels.k_DU);
      pack(head_of<T>(args.k_UK, sizes, keys, place.kv), panels.k_UD);
      pack_turned(head_of<T>(args.v_UK, sizes, keys, place.kv), panels.v_DU);
      panels.dk_UD.clear();
      panels.dv_UD.clear();
    }
    pack(head_of<T>(args.q_TQ, sizes, tokens, place.query), panels.q_SD);
    pack(head_of<T>(args.dout_TQ, sizes, tokens, place.query), panels.dout_SD);
    panels.dq_SD.clear();
    for (std::int64_t s = 0; s < tokens; ++s) {
      const std::span<const Run> runs = seen_by_query[s];
      if (runs.empty()) continue;
      const std::int64_t statistic = place.statistic(s);
      score_gradients<A>(place,
                         s,
                         runs,
                         elements<A>(args.lse_TH)[statistic],
                         elements<A>(args.delta_TH)[statistic],
                         panels);
      add_runs<A>(panels.k_UD, panels.dz_SU.row(s), 1, runs, d, panels.dq_SD.row(s));
    }
    for (std::int64_t u = 0; u < keys; ++u) {
      const std::span<const Run> runs = seen_from_key[u];
      const std::int64_t stride = panels.dz_SU.stride();
      add_runs<A>(panels.q_SD, panels.dz_SU.row(0) + u, stride, runs, d, panels.dk_UD.row(u));
      add_runs<A>(panels.dout_SD, panels.kept_SU.row(0) + u, stride, runs, d, panels.dv_UD.row(u));
    }
    add_panel(panels.dq_SD, head_of<A>(args.dq_TQ, sizes, tokens, place.query));
    if ((place.query.head + 1) % queries != 0) continue;
    add_panel(panels.dk_UD, head_of<A>(args.dk_UK, sizes, keys, place.kv));
    add_panel(panels.dv_UD, head_of<A>(args.dv_UK, sizes, keys, place.kv));
  }
}

}  // namespace

void attention_block(const LaunchTarget&, const AttentionBlockArgs& args) {
  with_type(args.q_TQ.dtype, [&]<typename T>(ElementType<T>) { attention_block_of<T>(args); });
}

void attention_block_backward(const LaunchTarget&, const AttentionBlockBackwardArgs& args) {
  with_type(args.q_TQ.dtype,
            [&]<typename T>(ElementType<T>) { attention_block_backward_of<T>(args); });
}

}  // namespace lockstep::cpu
