// Attention over a block of keys, head by head of each sample, merged into what other blocks gave.
//
// S query tokens, U key tokens, D elements of a head. Keys that a query does not see take part in
// nothing.
#include <cmath>
#include <limits>

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
  template <typename A>
  A dropped(std::int64_t s, std::int64_t u) const {
    const std::int64_t token = block.first_token + query.sample * block.seq + query_positions[s];
    const std::int64_t head = block.first_head + query.head;
    return drop_factor<A>(block.dropout,
                          (token * block.all_heads + head) * block.seq + key_positions[u]);
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

// log(exp a + exp b). NaN stays.
template <typename A>
A log_of_sum(A a, A b) {
  const A larger = (a > b || a != a) ? a : b;
  const A smaller = (a > b || a != a) ? b : a;
  if (larger == -std::numeric_limits<A>::infinity()) return larger;
  return larger + std::log1p(std::exp(smaller - larger));
}

// log of the sum over the runs of exp z[u].
template <typename A>
A log_sum_exp(const A* z, std::span<const Run> runs) {
  A largest = z[runs[0].first];
  for (const Run& run : runs) {
    for (std::int64_t u = run.first; u < run.end; ++u) {
      largest = (z[u] > largest || z[u] != z[u]) ? z[u] : largest;
    }
  }
  A sum{0};
  for (const Run& run : runs) {
    for (std::int64_t u = run.first; u < run.end; ++u) sum += std::exp(z[u] - largest);
  }
  return largest + std::log(sum);
}

// From scores to probabilities by the log-sum-exp, and these with dropout.
template <typename A>
void probabilities_of(const BlockPlace& place,
                      std::int64_t s,
                      std::span<const Run> runs,
                      A lse,
                      A* z,
                      A* kept) {
  const bool drops = place.block.dropout.probability > 0.0;
  for (const Run& run : runs) {
    for (std::int64_t u = run.first; u < run.end; ++u) {
      z[u] = std::exp(z[u] - lse);
      kept[u] = drops ? z[u] * place.dropped<A>(s, u) : z[u];
    }
  }
}

template <typename T>
void attention_block_of(const AttentionBlockArgs& args) {
  using A = Accumulated<T>;
  const AttentionSizes& sizes = args.block.sizes;
  const std::int64_t d = sizes.head_dim;
  const std::int64_t tokens = num_tokens(args.tokens.queries_3S);
  const std::int64_t keys = num_tokens(args.tokens.keys_3U);
  const Sight sight = Sight::of_queries(args.tokens, args.block.window);
  Panel<A> q_SD(tokens, d);
  Panel<A> k_DU(d, keys);
  Panel<A> v_UD(keys, d);
  Panel<A> out_SD(tokens, d);
  std::vector<A> scratch(static_cast<std::size_t>(whole_blocks(keys)));
  std::vector<A> z(scratch.size());
  std::vector<A> kept(scratch.size());
  for (std::int64_t index = 0; index < sizes.batch * sizes.num_heads; ++index) {
    const BlockPlace place = place_of(args.block, args.tokens, index);
    if (place.query.head % (sizes.num_heads / sizes.num_kv_heads) == 0) {
      pack_turned(head_of<T>(args.k_UK, sizes, keys, place.kv), k_DU);
      pack(head_of<T>(args.v_UK, sizes, keys, place.kv), v_UD);
    }
    pack(head_of<T>(args.q_TQ, sizes, tokens, place.query), q_SD);
    const Head<A> out = head_of<A>(args.out_TQ, sizes, tokens, place.query);
    for (std::int64_t s = 0; s < tokens; ++s) {
      const std::span<const Run> runs = sight[s];
      if (runs.empty()) continue;
      products_of_runs<A>(
          k_DU, q_SD.row(s), d, runs, static_cast<A>(sizes.scale), scratch, z.data());
      A& lse = elements<A>(args.lse_TH)[place.statistic(s)];
      const A merged = log_of_sum<A>(lse, log_sum_exp(z.data(), runs));
      const A before = std::exp(lse - merged);
      lse = merged;
      probabilities_of<A>(place, s, runs, merged, z.data(), kept.data());
      A* const sum = out_SD.row(s);
      std::fill(sum, sum + d, A{0});
      add_runs<A>(v_UD, kept.data(), 1, runs, d, sum);
      A* const merged_out = out.first + s * out.stride;
      for (std::int64_t i = 0; i < d; ++i) merged_out[i] = before * merged_out[i] + sum[i];
    }
  }
}

// Scratch of the backward pass, of one query head and of the kv head it reads.
template <typename A>
struct BlockPanels {
  BlockPanels(std::int64_t s, std::int64_t u, std::int64_t d)
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
        scratch(static_cast<std::size_t>(whole_blocks(u))) {}

  Panel<A> q_SD;
  Panel<A> dout_SD;
  Panel<A> dq_SD;
  Panel<A> k_DU;
  Panel<A> k_UD;
  Panel<A> v_DU;
  Panel<A> dk_UD;  // summed over the query heads of the group, as dv
  Panel<A> dv_UD;
  Panel<A> dz_SU;
  Panel<A> kept_SU;
  std::vector<A> scratch;
};

// dz and the kept probabilities of one query, where it sees keys.
template <typename A>
void score_gradients(const BlockPlace& place,
                     std::int64_t s,
                     std::span<const Run> runs,
                     A lse,
                     A delta,
                     std::vector<A>& dp,
                     BlockPanels<A>& panels) {
  const AttentionSizes& sizes = place.block.sizes;
  const A scale = static_cast<A>(sizes.scale);
  const bool drops = place.block.dropout.probability > 0.0;
  A* const z = panels.dz_SU.row(s);
  products_of_runs<A>(
      panels.k_DU, panels.q_SD.row(s), sizes.head_dim, runs, scale, panels.scratch, z);
  products_of_runs<A>(
      panels.v_DU, panels.dout_SD.row(s), sizes.head_dim, runs, A{1}, panels.scratch, dp.data());
  probabilities_of<A>(place, s, runs, lse, z, panels.kept_SU.row(s));
  for (const Run& run : runs) {
    for (std::int64_t u = run.first; u < run.end; ++u) {
      A& through = dp[static_cast<std::size_t>(u)];
      if (drops) through *= place.dropped<A>(s, u);
      z[u] = scale * z[u] * (through - delta);
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
  BlockPanels<A> panels(tokens, keys, d);
  std::vector<A> dp(panels.scratch.size());
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
                         dp,
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

template <typename T>
void attention_delta_of(const AttentionDeltaArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t d = args.sizes.head_dim;
  const A* out = elements<A>(args.out_TQ);
  const T* dout = elements<T>(args.dout_TQ);
  A* const delta = elements<A>(args.delta_TH);
  for (std::int64_t i = 0; i < args.delta_TH.count; ++i, out += d, dout += d) {
    A sum{0};
    for (std::int64_t j = 0; j < d; ++j) sum += out[j] * widened(dout[j]);
    delta[i] = sum;
  }
}

template <typename T>
void attention_sink_of(const AttentionSinkArgs& args) {
  using A = Accumulated<T>;
  const T* const sink = elements<T>(args.sink_H);
  A* const lse = elements<A>(args.lse_TH);
  for (std::int64_t i = 0; i < args.lse_TH.count; ++i) lse[i] = widened(sink[i % args.sink_H.count]);
}

template <typename T>
void attention_sink_backward_of(const AttentionSinkBackwardArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t heads = args.sink_H.count;
  const A* const lse = elements<A>(args.lse_TH);
  const A* const delta = elements<A>(args.delta_TH);
  for (std::int64_t h = 0; h < heads; ++h) {
    const A sink = widened(elements<T>(args.sink_H)[h]);
    A sum{0};
    for (std::int64_t i = h; i < args.lse_TH.count; i += heads) {
      sum -= std::exp(sink - lse[i]) * delta[i];
    }
    elements<T>(args.dsink_H)[h] = rounded<T>(sum);
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

void attention_delta(const LaunchTarget&, const AttentionDeltaArgs& args) {
  with_type(args.dout_TQ.dtype, [&]<typename T>(ElementType<T>) { attention_delta_of<T>(args); });
}

void attention_sink(const LaunchTarget&, const AttentionSinkArgs& args) {
  with_type(args.sink_H.dtype, [&]<typename T>(ElementType<T>) { attention_sink_of<T>(args); });
}

void attention_sink_backward(const LaunchTarget&, const AttentionSinkBackwardArgs& args) {
  with_type(args.sink_H.dtype,
            [&]<typename T>(ElementType<T>) { attention_sink_backward_of<T>(args); });
}

}  // namespace lockstep::cpu
