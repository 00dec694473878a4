// Matrix products by Eigen: the only file that sees it, and it is used for nothing else.
//
// Eigen's packing blocks must not lie on a fiber's stack: EIGEN_STACK_ALLOCATION_LIMIT=0 is set for
// this file.
#include <Eigen/Core>

#include "core/ops/cpu/bodies.h"

namespace lockstep::cpu {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixView = Eigen::Map<const Matrix>;

template <typename Left, typename Right>
void multiply(const Left& left, const Right& right, const MatmulArgs& args) {
  Eigen::Map<Matrix> c(elements<double>(args.c), args.m, args.n);
  c.noalias() = left * right;
}

}  // namespace

void matmul(const LaunchTarget&, const MatmulArgs& args) {
  const MatrixView a(elements<double>(args.a),
                     args.transpose_a ? args.k : args.m,
                     args.transpose_a ? args.m : args.k);
  const MatrixView b(elements<double>(args.b),
                     args.transpose_b ? args.n : args.k,
                     args.transpose_b ? args.k : args.n);
  if (args.transpose_a && args.transpose_b) {
    multiply(a.transpose(), b.transpose(), args);
  } else if (args.transpose_a) {
    multiply(a.transpose(), b, args);
  } else if (args.transpose_b) {
    multiply(a, b.transpose(), args);
  } else {
    multiply(a, b, args);
  }
}

}  // namespace lockstep::cpu
