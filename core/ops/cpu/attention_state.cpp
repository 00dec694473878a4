// What goes with a softmax under way: what it starts from, and its sums in the backward pass.
#include <cmath>

#include "core/ops/cpu/bodies.h"
#include "core/ops/cpu/element.h"

namespace lockstep::cpu {
namespace {

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
  for (std::int64_t i = 0; i < args.lse_TH.count; ++i) {
    lse[i] = widened(sink[i % args.sink_H.count]);
  }
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
