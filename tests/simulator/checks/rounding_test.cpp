// Rounding to element types, and what an update's roundings may add up to.
#include "simulator/checks/rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/random.h"
#include "core/config/presets.h"
#include "simulator/checks/optimizer_arithmetic.h"
#include "simulator/checks/rounding_allowance.h"

namespace lockstep::test {
namespace {

TEST(Rounding, ToBf16GoesToTheNearestAndTiesToEven) {
  EXPECT_EQ(sim::rounded_to_bf16(1.0), 1.0);
  EXPECT_EQ(sim::rounded_to_bf16(1.0 + std::ldexp(1.0, -8)), 1.0);
  EXPECT_EQ(sim::rounded_to_bf16(1.0 + std::ldexp(3.0, -8)), 1.0 + std::ldexp(2.0, -7));
  EXPECT_EQ(sim::rounded_to_bf16(1.0 + std::ldexp(1.0, -8) + std::ldexp(1.0, -20)),
            1.0 + std::ldexp(1.0, -7));
  EXPECT_EQ(sim::rounded_to_bf16(-1.0 - std::ldexp(3.0, -8)), -1.0 - std::ldexp(2.0, -7));
  EXPECT_TRUE(std::isnan(sim::rounded_to_bf16(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_TRUE(std::isinf(sim::rounded_to_bf16(3.4e38)));
}

TEST(Rounding, OfStateIsThatOfMastersNotOfParameters) {
  const double third = 1.0 / 3.0;
  EXPECT_EQ(sim::rounded_to_state(Precision::kF64, third), third);
  EXPECT_EQ(sim::rounded_to_state(Precision::kF32, third), static_cast<double>(1.0F / 3.0F));
  EXPECT_EQ(sim::rounded_to_state(Precision::kBF16, third), static_cast<double>(1.0F / 3.0F));
}

double draw(std::string_view what, std::uint64_t i) { return random_signed(5, stream_of(what), i); }

sim::UpdateInputs inputs_of(std::size_t count) {
  sim::UpdateInputs inputs{.weight_decay = 0.1, .step = 3};
  for (std::uint64_t i = 0; i < count; ++i) {
    // Gradients of all sizes, and masters that cancel with their step.
    inputs.gradient.push_back(draw("g", i) * std::pow(10.0, 8.0 * draw("size", i) - 6.0));
    inputs.master.push_back(draw("p", i) * std::pow(10.0, 3.0 * draw("place", i) - 2.0));
    inputs.exp_avg.push_back(draw("m", i) * std::abs(inputs.gradient.back()));
    inputs.exp_avg_sq.push_back(std::abs(draw("v", i)) * inputs.gradient.back() *
                                inputs.gradient.back());
    for (std::vector<double>* values :
         {&inputs.gradient, &inputs.master, &inputs.exp_avg, &inputs.exp_avg_sq}) {
      values->back() = sim::rounded_to_f32(values->back());
    }
  }
  return inputs;
}

// In f32 throughout, in another order of operations than the check's: p (1 - lr wd) - (lr / c1) m
// ...
struct Updated {
  std::vector<double> master;
  std::vector<double> exp_avg;
  std::vector<double> exp_avg_sq;
};
Updated adamw_in_f32(const Recipe& recipe, const sim::UpdateInputs& inputs) {
  const auto f32 = [](double value) { return static_cast<float>(value); };
  const auto step = static_cast<double>(inputs.step);
  const float beta1 = f32(recipe.betas[0]);
  const float beta2 = f32(recipe.betas[1]);
  const float correction1 = f32(1.0 - std::pow(recipe.betas[0], step));
  const float correction2 = f32(1.0 - std::pow(recipe.betas[1], step));
  Updated updated;
  for (std::size_t i = 0; i < inputs.master.size(); ++i) {
    const float g = f32(inputs.gradient[i]);
    const float p = f32(inputs.master[i]);
    const float m = beta1 * f32(inputs.exp_avg[i]) + f32(1.0 - recipe.betas[0]) * g;
    const float v = beta2 * f32(inputs.exp_avg_sq[i]) + f32(1.0 - recipe.betas[1]) * (g * g);
    const float root = std::sqrt(v / correction2) + f32(recipe.adam_eps);
    const float decayed = f32(inputs.weight_decay) * p;
    updated.exp_avg.push_back(m);
    updated.exp_avg_sq.push_back(v);
    updated.master.push_back(p - f32(recipe.lr) * (m / (correction1 * root) + decayed));
  }
  return updated;
}

double largest_share(const std::vector<double>& got,
                     const std::vector<double>& expected,
                     const sim::Allowance& allowance) {
  double largest = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, std::abs(got[i] - expected[i]) / allowance.allowed[i]);
  }
  return largest;
}

TEST(RoundingAllowance, CoversF32ArithmeticInAnotherOrderAndNotMuchMore) {
  Recipe recipe = preset_case("tiny-dense").recipe;
  recipe.dtype = Precision::kF32;
  recipe.lr = 0.1;
  const sim::UpdateInputs inputs = inputs_of(20000);
  sim::UpdateInputs exact = inputs;
  sim::optimize(recipe,
                inputs.weight_decay,
                inputs.step,
                {.gradient = exact.gradient,
                 .master = exact.master,
                 .exp_avg = exact.exp_avg,
                 .exp_avg_sq = exact.exp_avg_sq});
  const Updated got = adamw_in_f32(recipe, inputs);
  const double master =
      largest_share(got.master, exact.master, sim::allowance_of_master(recipe, inputs));
  const double exp_avg =
      largest_share(got.exp_avg, exact.exp_avg, sim::allowance_of_exp_avg(recipe, inputs));
  const double exp_avg_sq =
      largest_share(got.exp_avg_sq, exact.exp_avg_sq, sim::allowance_of_exp_avg_sq(recipe, inputs));
  for (const double share : {master, exp_avg, exp_avg_sq}) {
    EXPECT_LE(share, 1.0);
    EXPECT_GT(share, 0.3) << "a bound that nothing comes near says little";
  }
}

TEST(RoundingAllowance, OfAMasterThatBarelyMovesIsAboutAnUlp) {
  Recipe recipe = preset_case("tiny-dense").recipe;
  const sim::UpdateInputs inputs{.gradient = {1e-3},
                                 .master = {0.75},
                                 .exp_avg = {0.0},
                                 .exp_avg_sq = {0.0},
                                 .weight_decay = 0.1};
  const sim::Allowance allowance = sim::allowance_of_master(recipe, inputs);
  EXPECT_GT(allowance.allowed[0] / allowance.ulp[0], 1.0);
  EXPECT_LT(allowance.allowed[0] / allowance.ulp[0], 1.05);
}

}  // namespace
}  // namespace lockstep::test
