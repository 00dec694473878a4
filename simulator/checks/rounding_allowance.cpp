// The sums of the header, term by term.
#include "simulator/checks/rounding_allowance.h"

#include <algorithm>
#include <cmath>

#include "core/base/errors.h"
#include "simulator/checks/rounding.h"

namespace lockstep::sim {
namespace {

class Allowing {
 public:
  Allowing(const Recipe& recipe, std::size_t count) : limits_(state_limits(recipe.dtype)) {
    unit_ = limits_.epsilon / (recipe.dtype == Precision::kF64 ? 1.0 : 2.0);
    allowance_.allowed.reserve(count);
    allowance_.ulp.reserve(count);
  }

  // `rounded`: the sum of all terms, each times its number of roundings.
  void add(double rounded, double largest_term) {
    // Products and quotients may lose a whole smallest number each.
    constexpr double kUnderflows = 4.0;
    allowance_.allowed.push_back(unit_ * rounded + kUnderflows * limits_.smallest);
    allowance_.ulp.push_back(std::max(limits_.epsilon * largest_term, limits_.smallest));
  }

  Allowance take() && { return std::move(allowance_); }

 private:
  StateLimits limits_;
  double unit_;
  Allowance allowance_;
};

Allowance allowance_of_sgd(const Recipe& recipe, const UpdateInputs& inputs) {
  Allowing allowing(recipe, inputs.master.size());
  for (std::size_t i = 0; i < inputs.master.size(); ++i) {
    const double p = std::abs(inputs.master[i]);
    const double g = std::abs(inputs.gradient[i]);
    const double w = inputs.weight_decay * p;
    allowing.add(p + recipe.lr * (4.0 * g + 6.0 * w), std::max(p, recipe.lr * std::max(g, w)));
  }
  return std::move(allowing).take();
}

Allowance allowance_of_adamw(const Recipe& recipe, const UpdateInputs& inputs) {
  const double beta1 = recipe.betas[0];
  const double beta2 = recipe.betas[1];
  const auto step = static_cast<double>(inputs.step);
  const double correction1 = 1.0 - std::pow(beta1, step);
  const double correction2 = 1.0 - std::pow(beta2, step);
  Allowing allowing(recipe, inputs.master.size());
  for (std::size_t i = 0; i < inputs.master.size(); ++i) {
    const double p = std::abs(inputs.master[i]);
    const double g = inputs.gradient[i];
    const double m = beta1 * std::abs(inputs.exp_avg[i]) + (1.0 - beta1) * std::abs(g);
    const double v = beta2 * inputs.exp_avg_sq[i] + (1.0 - beta2) * g * g;
    const double t = m / correction1 / (std::sqrt(v / correction2) + recipe.adam_eps);
    const double w = inputs.weight_decay * p;
    allowing.add(p + recipe.lr * (15.0 * t + 6.0 * w), std::max(p, recipe.lr * std::max(t, w)));
  }
  return std::move(allowing).take();
}

}  // namespace

Allowance allowance_of_master(const Recipe& recipe, const UpdateInputs& inputs) {
  switch (recipe.optimizer) {
    case Optimizer::kSgd:
      return allowance_of_sgd(recipe, inputs);
    case Optimizer::kAdamW:
      return allowance_of_adamw(recipe, inputs);
  }
  throw InternalError("unknown optimizer");
}

Allowance allowance_of_exp_avg(const Recipe& recipe, const UpdateInputs& inputs) {
  const double beta1 = recipe.betas[0];
  Allowing allowing(recipe, inputs.exp_avg.size());
  for (std::size_t i = 0; i < inputs.exp_avg.size(); ++i) {
    const double a = beta1 * std::abs(inputs.exp_avg[i]);
    const double b = (1.0 - beta1) * std::abs(inputs.gradient[i]);
    allowing.add(3.0 * (a + b), std::max(a, b));
  }
  return std::move(allowing).take();
}

Allowance allowance_of_exp_avg_sq(const Recipe& recipe, const UpdateInputs& inputs) {
  const double beta2 = recipe.betas[1];
  Allowing allowing(recipe, inputs.exp_avg_sq.size());
  for (std::size_t i = 0; i < inputs.exp_avg_sq.size(); ++i) {
    const double c = beta2 * std::abs(inputs.exp_avg_sq[i]);
    const double d = (1.0 - beta2) * inputs.gradient[i] * inputs.gradient[i];
    allowing.add(4.0 * (c + d), std::max(c, d));
  }
  return std::move(allowing).take();
}

}  // namespace lockstep::sim
