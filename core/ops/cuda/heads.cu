// Attention's inputs: rows of groups [q heads | k | v] taken apart and put together, and rotation.
#include "core/ops/cuda/bodies.h"
#include "core/ops/cuda/element.cuh"

namespace lockstep::cuda {
namespace {

// The fused element i of groups [q | k | v] and its place among the parts.
template <typename Bits>
struct QkvParts {
  Bits* q;
  Bits* k;
  Bits* v;
  std::int64_t q_width;
  std::int64_t head_dim;

  __device__ Bits& at(std::int64_t i) const {
    const std::int64_t width = q_width + 2 * head_dim;
    const std::int64_t group = i / width;
    const std::int64_t column = i % width;
    if (column < q_width) return q[group * q_width + column];
    const std::int64_t kv_column = column - q_width;
    if (kv_column < head_dim) return k[group * head_dim + kv_column];
    return v[group * head_dim + kv_column - head_dim];
  }
};

template <typename Bits>
QkvParts<Bits> parts_of(const SplitQkvArgs& args) {
  return {.q = elements<Bits>(args.q_TQ),
          .k = elements<Bits>(args.k_TK),
          .v = elements<Bits>(args.v_TK),
          .q_width = args.queries * args.head_dim,
          .head_dim = args.head_dim};
}

template <typename Bits>
void split_qkv_of(const LaunchTarget& target, const SplitQkvArgs& args) {
  const auto* const fused = elements<Bits>(args.qkv_TW);
  const QkvParts<Bits> parts = parts_of<Bits>(args);
  for_each(target, args.qkv_TW.count, [=] __device__(std::int64_t i) { parts.at(i) = fused[i]; });
}

template <typename Bits>
void join_qkv_of(const LaunchTarget& target, const SplitQkvArgs& args) {
  auto* const fused = elements<Bits>(args.qkv_TW);
  const QkvParts<Bits> parts = parts_of<Bits>(args);
  for_each(target, args.qkv_TW.count, [=] __device__(std::int64_t i) { fused[i] = parts.at(i); });
}

// A thread a pair (x1, x2) of a head.
template <typename T>
void rope_of(const LaunchTarget& target, const RopeArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t half = args.head_dim / 2;
  const std::int64_t batch = args.batch;
  const std::int64_t rows = args.cos_SR.count / half * batch;
  if (rows == 0) return;
  const std::int64_t heads = args.x_TH.count / rows / args.head_dim;
  const A sign = static_cast<A>(args.direction);
  const A* const cos = elements<A>(args.cos_SR);
  const A* const sin = elements<A>(args.sin_SR);
  const T* const x = elements<T>(args.x_TH);
  T* const y = elements<T>(args.y_TH);
  for_each(target, rows * heads * half, [=] __device__(std::int64_t i) {
    const std::int64_t head = i / half;
    const std::int64_t pair = i % half;
    const std::int64_t angle = head / heads / batch * half + pair;
    const std::int64_t first = head * 2 * half + pair;
    const std::int64_t second = first + half;
    const A x1 = widened(x[first]);
    const A x2 = widened(x[second]);
    const A c = cos[angle];
    const A s = sign * sin[angle];
    y[first] = rounded<T>(x1 * c - x2 * s);
    y[second] = rounded<T>(x2 * c + x1 * s);
  });
}

}  // namespace

void split_qkv(const LaunchTarget& target, const SplitQkvArgs& args) {
  with_bits(args.qkv_TW.dtype,
            [&]<typename Bits>(ElementType<Bits>) { split_qkv_of<Bits>(target, args); });
}

void join_qkv(const LaunchTarget& target, const SplitQkvArgs& args) {
  with_bits(args.qkv_TW.dtype,
            [&]<typename Bits>(ElementType<Bits>) { join_qkv_of<Bits>(target, args); });
}

void rope(const LaunchTarget& target, const RopeArgs& args) {
  with_type(args.x_TH.dtype, [&]<typename T>(ElementType<T>) { rope_of<T>(target, args); });
}

}  // namespace lockstep::cuda
