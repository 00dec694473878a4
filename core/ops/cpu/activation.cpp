// SiLU: silu(x) = x sigmoid(x), silu'(x) = sigmoid(x) (1 + x (1 - sigmoid(x))).
#include <cmath>

#include "core/ops/cpu/bodies.h"

namespace lockstep::cpu {
namespace {

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

}  // namespace

void silu(const LaunchTarget&, const UnaryArgs& args) {
  const double* const x = elements<double>(args.x);
  double* const out = elements<double>(args.out);
  for (std::int64_t i = 0; i < args.x.count; ++i) out[i] = x[i] * sigmoid(x[i]);
}

void silu_backward(const LaunchTarget&, const UnaryBackwardArgs& args) {
  const double* const x = elements<double>(args.x);
  const double* const dy = elements<double>(args.dy);
  double* const out = elements<double>(args.out);
  for (std::int64_t i = 0; i < args.x.count; ++i) {
    const double s = sigmoid(x[i]);
    out[i] = dy[i] * s * (1.0 + x[i] * (1.0 - s));
  }
}

}  // namespace lockstep::cpu
