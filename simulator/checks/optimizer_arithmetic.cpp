// SGD and AdamW, element by element.
#include "simulator/checks/optimizer_arithmetic.h"

#include <cmath>

#include "core/base/errors.h"

namespace lockstep::sim {
namespace {

// p <- p - lr (g + wd p)
void sgd(const Recipe& recipe, double weight_decay, const OptimizedTensor& tensor) {
  for (std::size_t i = 0; i < tensor.master.size(); ++i) {
    const double p = tensor.master[i];
    tensor.master[i] = p - recipe.lr * (tensor.gradient[i] + weight_decay * p);
  }
}

// m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2
// p <- p - lr (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + wd p)
void adamw(const Recipe& recipe,
           double weight_decay,
           std::int64_t step,
           const OptimizedTensor& tensor) {
  const double beta1 = recipe.betas[0];
  const double beta2 = recipe.betas[1];
  const double first_correction = 1.0 - std::pow(beta1, static_cast<double>(step));
  const double second_correction = 1.0 - std::pow(beta2, static_cast<double>(step));
  for (std::size_t i = 0; i < tensor.master.size(); ++i) {
    const double g = tensor.gradient[i];
    const double m = beta1 * tensor.exp_avg[i] + (1.0 - beta1) * g;
    const double v = beta2 * tensor.exp_avg_sq[i] + (1.0 - beta2) * g * g;
    const double p = tensor.master[i];
    const double direction =
        (m / first_correction) / (std::sqrt(v / second_correction) + recipe.adam_eps);
    tensor.master[i] = p - recipe.lr * (direction + weight_decay * p);
    tensor.exp_avg[i] = m;
    tensor.exp_avg_sq[i] = v;
  }
}

}  // namespace

double weight_decay_of(const Recipe& recipe, const std::vector<std::int64_t>& full_shape) {
  return full_shape.size() > 1 ? recipe.weight_decay : 0.0;
}

void optimize(const Recipe& recipe,
              double weight_decay,
              std::int64_t step,
              const OptimizedTensor& tensor) {
  switch (recipe.optimizer) {
    case Optimizer::kSgd:
      return sgd(recipe, weight_decay, tensor);
    case Optimizer::kAdamW:
      return adamw(recipe, weight_decay, step, tensor);
  }
  throw InternalError("unknown optimizer");
}

}  // namespace lockstep::sim
