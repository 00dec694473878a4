// Matrix products by Eigen: the only file that sees it, and it is used for nothing else.
//
// Eigen's packing blocks must not lie on a fiber's stack: EIGEN_STACK_ALLOCATION_LIMIT=0 is set for
// this file.
#include <Eigen/Core>

#include "core/ops/cpu/bodies.h"
#include "core/ops/cpu/element.h"

namespace lockstep::cpu {
namespace {

template <typename A>
using Matrix = Eigen::Matrix<A, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <typename A>
struct Operands {
  const A* a;
  const A* b;
  A* c;
};

template <typename A>
void multiply(const Operands<A>& operands, const MatmulArgs& args) {
  using View = Eigen::Map<const Matrix<A>>;
  const View a(operands.a, args.transpose_a ? args.k : args.m, args.transpose_a ? args.m : args.k);
  const View b(operands.b, args.transpose_b ? args.n : args.k, args.transpose_b ? args.k : args.n);
  Eigen::Map<Matrix<A>> c(operands.c, args.m, args.n);
  if (args.transpose_a && args.transpose_b) {
    c.noalias() = a.transpose() * b.transpose();
  } else if (args.transpose_a) {
    c.noalias() = a.transpose() * b;
  } else if (args.transpose_b) {
    c.noalias() = a * b.transpose();
  } else {
    c.noalias() = a * b;
  }
}

std::vector<float> widened_copy(const Buffer& from) {
  const BF16* const x = elements<BF16>(from);
  std::vector<float> copy(static_cast<std::size_t>(from.count));
  for (std::size_t i = 0; i < copy.size(); ++i) copy[i] = widened(x[i]);
  return copy;
}

// In float, each element of the result rounded once.
void multiply_bf16(const MatmulArgs& args) {
  const std::vector<float> a = widened_copy(args.a);
  const std::vector<float> b = widened_copy(args.b);
  std::vector<float> c(static_cast<std::size_t>(args.c.count));
  multiply<float>({.a = a.data(), .b = b.data(), .c = c.data()}, args);
  BF16* const out = elements<BF16>(args.c);
  for (std::size_t i = 0; i < c.size(); ++i) out[i] = rounded_to_bf16(c[i]);
}

}  // namespace

void matmul(const LaunchTarget&, const MatmulArgs& args) {
  with_type(args.c.dtype, [&]<typename T>(ElementType<T>) {
    if constexpr (std::is_same_v<T, BF16>) {
      multiply_bf16(args);
    } else {
      multiply<T>({.a = elements<T>(args.a), .b = elements<T>(args.b), .c = elements<T>(args.c)},
                  args);
    }
  });
}

}  // namespace lockstep::cpu
