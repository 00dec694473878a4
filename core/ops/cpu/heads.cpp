// Attention's inputs: rows of groups [q heads | k | v] taken apart and put together, and rotation.
#include <cstring>

#include "core/ops/cpu/bodies.h"
#include "core/ops/cpu/element.h"

namespace lockstep::cpu {
namespace {

enum class QkvMove { kSplit, kJoin };

// Elements of any type move as they are.
void move(std::byte* fused, std::byte* part, std::int64_t num_bytes, QkvMove direction) {
  const auto size = static_cast<std::size_t>(num_bytes);
  switch (direction) {
    case QkvMove::kSplit:
      std::memcpy(part, fused, size);
      return;
    case QkvMove::kJoin:
      std::memcpy(fused, part, size);
      return;
  }
  throw InternalError("unknown direction of a qkv move");
}

void move_qkv(const SplitQkvArgs& args, QkvMove direction) {
  const std::int64_t head = args.head_dim * element_bytes(args.qkv_TW.dtype);
  const std::int64_t q_bytes = args.queries * head;
  std::byte* fused = args.qkv_TW.bytes();
  std::byte* q = args.q_TQ.bytes();
  std::byte* k = args.k_TK.bytes();
  std::byte* v = args.v_TK.bytes();
  // Rows lie end to end in all four, so the groups of all rows are one run.
  const std::int64_t num_groups = args.k_TK.count / args.head_dim;
  for (std::int64_t group = 0; group < num_groups; ++group) {
    move(fused, q, q_bytes, direction);
    move(fused + q_bytes, k, head, direction);
    move(fused + q_bytes + head, v, head, direction);
    fused += q_bytes + 2 * head;
    q += q_bytes;
    k += head;
    v += head;
  }
}

template <typename T>
void rope_of(const RopeArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t half = args.head_dim / 2;
  const std::int64_t rows = args.cos_SR.count / half * args.batch;
  const std::int64_t heads = rows == 0 ? 0 : args.x_TH.count / rows / args.head_dim;
  const A sign = static_cast<A>(args.direction);
  const T* x = elements<T>(args.x_TH);
  T* y = elements<T>(args.y_TH);
  for (std::int64_t row = 0; row < rows; ++row) {
    const A* const cos = elements<A>(args.cos_SR) + row / args.batch * half;
    const A* const sin = elements<A>(args.sin_SR) + row / args.batch * half;
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t i = 0; i < half; ++i) {
        const A x1 = widened(x[i]);
        const A x2 = widened(x[half + i]);
        const A s = sign * sin[i];
        y[i] = rounded<T>(x1 * cos[i] - x2 * s);
        y[half + i] = rounded<T>(x2 * cos[i] + x1 * s);
      }
      x += args.head_dim;
      y += args.head_dim;
    }
  }
}

}  // namespace

void split_qkv(const LaunchTarget&, const SplitQkvArgs& args) { move_qkv(args, QkvMove::kSplit); }

void join_qkv(const LaunchTarget&, const SplitQkvArgs& args) { move_qkv(args, QkvMove::kJoin); }

void rope(const LaunchTarget&, const RopeArgs& args) {
  with_type(args.x_TH.dtype, [&]<typename T>(ElementType<T>) { rope_of<T>(args); });
}

}  // namespace lockstep::cpu
