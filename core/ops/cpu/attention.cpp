// Causal attention, head by head of each sample, on packed copies in the accumulation type.
//
// S tokens, D elements of a head. What lies above the diagonal is 0 and takes part in nothing.
#include <cmath>

#include "core/ops/cpu/bodies.h"
#include "core/ops/cpu/element.h"
#include "core/ops/cpu/head.h"
#include "core/ops/cpu/panel.h"

namespace lockstep::cpu {
namespace {

std::int64_t num_tokens(const Buffer& q_TQ, const AttentionSizes& sizes) {
  return q_TQ.count / (sizes.batch * sizes.num_heads * sizes.head_dim);
}

// P[u] = exp(z[u] - max) / sum over the first `count` scores, 0 for the others. NaN stays.
template <typename A>
void softmax(const A* scores, std::int64_t count, std::int64_t width, A* probabilities) {
  A largest = scores[0];
  for (std::int64_t u = 1; u < count; ++u) {
    largest = (scores[u] > largest || scores[u] != scores[u]) ? scores[u] : largest;
  }
  A sum{0};
  for (std::int64_t u = 0; u < count; ++u) {
    probabilities[u] = std::exp(scores[u] - largest);
    sum += probabilities[u];
  }
  for (std::int64_t u = 0; u < count; ++u) probabilities[u] = probabilities[u] / sum;
  std::fill(probabilities + count, probabilities + width, A{0});
}

template <typename T>
void attention_of(const AttentionArgs& args) {
  using A = Accumulated<T>;
  const AttentionSizes& sizes = args.sizes;
  const std::int64_t tokens = num_tokens(args.q_TQ, sizes);
  const std::int64_t queries = sizes.num_heads / sizes.num_kv_heads;
  const A scale = static_cast<A>(sizes.scale);
  Panel<A> q_SD(tokens, sizes.head_dim);
  Panel<A> k_DS(sizes.head_dim, tokens);
  Panel<A> v_SD(tokens, sizes.head_dim);
  Panel<A> out_SD(tokens, sizes.head_dim);
  Panel<A> scores_SS(tokens, tokens);
  for (std::int64_t index = 0; index < sizes.batch * sizes.num_heads; ++index) {
    const HeadIndex at{.sample = index / sizes.num_heads, .head = index % sizes.num_heads};
    const HeadIndex kv{.sample = at.sample, .head = at.head / queries};
    if (at.head % queries == 0) {
      pack_turned(head_of<T>(args.k_TK, sizes, tokens, kv), k_DS);
      pack(head_of<T>(args.v_TK, sizes, tokens, kv), v_SD);
    }
    pack(head_of<T>(args.q_TQ, sizes, tokens, at), q_SD);
    scores_SS.clear();
    out_SD.clear();
    A* probabilities = elements<A>(args.probabilities_BHSS) + index * tokens * tokens;
    for (std::int64_t s = 0; s < tokens; ++s, probabilities += tokens) {
      A* const scores = scores_SS.row(s);
      add_rows<A>({.panel = k_DS, .count = sizes.head_dim, .weights = q_SD.row(s)}, s + 1, scores);
      for (std::int64_t u = 0; u <= s; ++u) scores[u] *= scale;
      softmax(scores, s + 1, tokens, probabilities);
      add_rows<A>(
          {.panel = v_SD, .count = s + 1, .weights = probabilities}, sizes.head_dim, out_SD.row(s));
    }
    unpack(out_SD, head_of<T>(args.out_TQ, sizes, tokens, at));
  }
}

// Scratch of the backward pass, of one query head and of the kv head it reads.
template <typename A>
struct BackwardPanels {
  BackwardPanels(std::int64_t s, std::int64_t d)
      : q_SD(s, d),
        k_SD(s, d),
        v_DS(d, s),
        dout_SD(s, d),
        dq_SD(s, d),
        dk_SD(s, d),
        dv_SD(s, d),
        dscores_SS(s, s) {}

  Panel<A> q_SD;
  Panel<A> k_SD;
  Panel<A> v_DS;
  Panel<A> dout_SD;
  Panel<A> dq_SD;
  Panel<A> dk_SD;  // summed over the query heads of the group, as dv
  Panel<A> dv_SD;
  Panel<A> dscores_SS;
};

// dP[s,u] = dout[s] v[u];  dz[s,u] = scale P[s,u] (dP[s,u] - sum over w of P[s,w] dP[s,w]);
// dq[s] = sum over u of dz[s,u] k[u];  dk[u] += sum over s of dz[s,u] q[s];
// dv[u] += sum over s of P[s,u] dout[s].
template <typename A>
void head_backward(const AttentionSizes& sizes,
                   std::int64_t tokens,
                   const A* probabilities_SS,
                   BackwardPanels<A>& panels) {
  const std::int64_t d = sizes.head_dim;
  const A scale = static_cast<A>(sizes.scale);
  panels.dscores_SS.clear();
  panels.dq_SD.clear();
  for (std::int64_t s = 0; s < tokens; ++s) {
    const A* const p = probabilities_SS + s * tokens;
    A* const dscores = panels.dscores_SS.row(s);
    add_rows<A>(
        {.panel = panels.v_DS, .count = d, .weights = panels.dout_SD.row(s)}, s + 1, dscores);
    A dot{0};
    for (std::int64_t u = 0; u <= s; ++u) dot += p[u] * dscores[u];
    for (std::int64_t u = 0; u <= s; ++u) dscores[u] = scale * p[u] * (dscores[u] - dot);
    add_rows<A>({.panel = panels.k_SD, .count = s + 1, .weights = dscores}, d, panels.dq_SD.row(s));
  }
  for (std::int64_t u = 0; u < tokens; ++u) {
    add_rows<A>({.panel = panels.q_SD,
                 .first = u,
                 .count = tokens - u,
                 .weights = panels.dscores_SS.row(u) + u,
                 .weight_stride = panels.dscores_SS.stride()},
                d,
                panels.dk_SD.row(u));
    add_rows<A>({.panel = panels.dout_SD,
                 .first = u,
                 .count = tokens - u,
                 .weights = probabilities_SS + u * tokens + u,
                 .weight_stride = tokens},
                d,
                panels.dv_SD.row(u));
  }
}

template <typename T>
void attention_backward_of(const AttentionBackwardArgs& args) {
  using A = Accumulated<T>;
  const AttentionSizes& sizes = args.sizes;
  const std::int64_t tokens = num_tokens(args.q_TQ, sizes);
  const std::int64_t queries = sizes.num_heads / sizes.num_kv_heads;
  BackwardPanels<A> panels(tokens, sizes.head_dim);
  for (std::int64_t index = 0; index < sizes.batch * sizes.num_heads; ++index) {
    const HeadIndex at{.sample = index / sizes.num_heads, .head = index % sizes.num_heads};
    const HeadIndex kv{.sample = at.sample, .head = at.head / queries};
    if (at.head % queries == 0) {
      pack(head_of<T>(args.k_TK, sizes, tokens, kv), panels.k_SD);
      pack_turned(head_of<T>(args.v_TK, sizes, tokens, kv), panels.v_DS);
      panels.dk_SD.clear();
      panels.dv_SD.clear();
    }
    pack(head_of<T>(args.q_TQ, sizes, tokens, at), panels.q_SD);
    pack(head_of<T>(args.dout_TQ, sizes, tokens, at), panels.dout_SD);
    head_backward(
        sizes, tokens, elements<A>(args.probabilities_BHSS) + index * tokens * tokens, panels);
    unpack(panels.dq_SD, head_of<T>(args.dq_TQ, sizes, tokens, at));
    if ((at.head + 1) % queries == 0) {
      unpack(panels.dk_SD, head_of<T>(args.dk_TK, sizes, tokens, kv));
      unpack(panels.dv_SD, head_of<T>(args.dv_TK, sizes, tokens, kv));
    }
  }
}

}  // namespace

void attention(const LaunchTarget&, const AttentionArgs& args) {
  with_type(args.q_TQ.dtype, [&]<typename T>(ElementType<T>) { attention_of<T>(args); });
}

void attention_backward(const LaunchTarget&, const AttentionBackwardArgs& args) {
  with_type(args.q_TQ.dtype, [&]<typename T>(ElementType<T>) { attention_backward_of<T>(args); });
}

}  // namespace lockstep::cpu
