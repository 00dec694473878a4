// How a softmax over blocks of keys begins, and the sums that end its backward pass.
//
// T query rows, H heads. A head's delta sums in the CPU's order, a sink's gradient in row.cuh's.
#include <cmath>

#include "core/ops/cuda/bodies.h"
#include "core/ops/cuda/element.cuh"
#include "core/ops/cuda/row.cuh"

namespace lockstep::cuda {
namespace {

template <typename T>
void attention_sink_of(const LaunchTarget& target, const AttentionSinkArgs& args) {
  const std::int64_t heads = args.sink_H.count;
  const T* const sink = elements<T>(args.sink_H);
  Accumulated<T>* const lse = elements<Accumulated<T>>(args.lse_TH);
  for_each(target, args.lse_TH.count, [=] __device__(std::int64_t i) {
    lse[i] = widened(sink[i % heads]);
  });
}

template <typename T>
void attention_sink_backward_of(const LaunchTarget& target, const AttentionSinkBackwardArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t heads = args.sink_H.count;
  const std::int64_t rows = heads == 0 ? 0 : args.lse_TH.count / heads;
  const T* const sink = elements<T>(args.sink_H);
  const A* const lse = elements<A>(args.lse_TH);
  const A* const delta = elements<A>(args.delta_TH);
  T* const dsink = elements<T>(args.dsink_H);
  for_each_row(target, heads, rows, [=] __device__(std::int64_t head) {
    const A own = widened(sink[head]);
    const A sum = sum_over_block<A>(rows, [&](std::int64_t t) {
      const std::int64_t at = t * heads + head;
      return std::exp(own - lse[at]) * delta[at];
    });
    if (threadIdx.x == 0) dsink[head] = rounded<T>(A{0} - sum);
  });
}

template <typename T>
void attention_delta_of(const LaunchTarget& target, const AttentionDeltaArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t head_dim = args.sizes.head_dim;
  const A* const out = elements<A>(args.out_TQ);
  const T* const dout = elements<T>(args.dout_TQ);
  A* const delta = elements<A>(args.delta_TH);
  for_each(target, args.delta_TH.count, [=] __device__(std::int64_t i) {
    A sum{0};
    for (std::int64_t j = i * head_dim; j < (i + 1) * head_dim; ++j) {
      sum += widened(dout[j]) * out[j];
    }
    delta[i] = sum;
  });
}

}  // namespace

void attention_sink(const LaunchTarget& target, const AttentionSinkArgs& args) {
  with_type(args.sink_H.dtype,
            [&]<typename T>(ElementType<T>) { attention_sink_of<T>(target, args); });
}

void attention_sink_backward(const LaunchTarget& target, const AttentionSinkBackwardArgs& args) {
  with_type(args.sink_H.dtype,
            [&]<typename T>(ElementType<T>) { attention_sink_backward_of<T>(target, args); });
}

void attention_delta(const LaunchTarget& target, const AttentionDeltaArgs& args) {
  with_type(args.dout_TQ.dtype,
            [&]<typename T>(ElementType<T>) { attention_delta_of<T>(target, args); });
}

}  // namespace lockstep::cuda
