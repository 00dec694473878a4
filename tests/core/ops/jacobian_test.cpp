// Every kernel pair that is not linear, in f64: the backward pass is the adjoint of the forward
// pass's Jacobian, by central differences element by element and along random directions.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "core/ops/attention.h"
#include "core/ops/elementwise.h"
#include "core/ops/linear.h"
#include "core/ops/norm.h"
#include "core/ops/vocabulary.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::directional_derivative;
using test::inner;
using test::numeric_gradient;
using test::OpFixture;
using test::relative_error;
using test::values_of;

constexpr double kEps = 1e-3;
constexpr AttentionSizes kHeads{
    .batch = 2, .num_heads = 6, .num_kv_heads = 2, .head_dim = 5, .scale = 0.7};
constexpr LabelSmoothing kSmoothing{.weight = 0.2, .vocabulary = 7};

// A function of some tensors, and their gradients in the same order.
struct Function {
  std::string name;
  std::vector<Shape> inputs;
  Shape output;
  std::function<Tensor(OpFixture&, const std::vector<Tensor>&)> forward;
  std::function<std::vector<Tensor>(OpFixture&, const std::vector<Tensor>&, const Tensor&)>
      backward;
};

std::vector<Function> activations() {
  return {
      {.name = "silu",
       .inputs = {{40}},
       .output = {40},
       .forward = [](OpFixture& f, const std::vector<Tensor>& x) { return silu(f.ops(), x[0]); },
       .backward = [](OpFixture& f, const std::vector<Tensor>& x, const Tensor& dy)
           -> std::vector<Tensor> { return {silu_backward(f.ops(), {.x = x[0]}, dy)}; }},
      {.name = "gated_silu",
       .inputs = {{3, 10}},
       .output = {3, 5},
       .forward = [](OpFixture& f,
                     const std::vector<Tensor>& x) { return gated_silu(f.ops(), x[0]); },
       .backward = [](OpFixture& f, const std::vector<Tensor>& x, const Tensor& dy)
           -> std::vector<Tensor> { return {gated_silu_backward(f.ops(), {.x = x[0]}, dy)}; }},
  };
}

std::vector<Function> norms() {
  return {
      {.name = "rms_norm",
       .inputs = {{5, 12}, {12}},
       .output = {5, 12},
       .forward =
           [](OpFixture& f, const std::vector<Tensor>& x) {
             return rms_norm(f.ops(), x[0], x[1], kEps).y;
           },
       .backward =
           [](OpFixture& f, const std::vector<Tensor>& x, const Tensor& dy) -> std::vector<Tensor> {
         const RmsNormResult result = rms_norm(f.ops(), x[0], x[1], kEps);
         const RmsNormSaved saved{.x = x[0], .g = x[1], .inverse_rms_T = result.inverse_rms_T};
         return {rms_norm_backward_input(f.ops(), saved, dy),
                 rms_norm_backward_weight(f.ops(), saved, dy)};
       }},
      {.name = "layer_norm",
       .inputs = {{5, 12}, {12}, {12}},
       .output = {5, 12},
       .forward =
           [](OpFixture& f, const std::vector<Tensor>& x) {
             return layer_norm(f.ops(), x[0], {.g = x[1], .b = x[2]}, kEps).y;
           },
       .backward =
           [](OpFixture& f, const std::vector<Tensor>& x, const Tensor& dy) -> std::vector<Tensor> {
         const LayerNormResult result = layer_norm(f.ops(), x[0], {.g = x[1], .b = x[2]}, kEps);
         const LayerNormSaved saved{
             .x = x[0], .g = x[1], .mean_T = result.mean_T, .inverse_std_T = result.inverse_std_T};
         return {layer_norm_backward_input(f.ops(), saved, dy),
                 layer_norm_backward_weight(f.ops(), saved, dy),
                 add_bias_backward_bias(f.ops(), dy)};
       }},
  };
}

ShardLogits shard_logits(OpFixture& f, const Tensor& logits) {
  return {.logits = logits,
          .labels = f.integers({0, 5, 6, 3}),
          .shard = {.first_row = 0, .num_real = 7}};
}

std::vector<Function> attention_and_loss() {
  return {
      {.name = "attention",
       .inputs = {{8, 30}, {8, 10}, {8, 10}},
       .output = {8, 30},
       .forward =
           [](OpFixture& f, const std::vector<Tensor>& x) {
             return attention(f.ops(), {.q = x[0], .k = x[1], .v = x[2]}, kHeads).out;
           },
       .backward =
           [](OpFixture& f, const std::vector<Tensor>& x, const Tensor& dy) -> std::vector<Tensor> {
         const Qkv inputs{.q = x[0], .k = x[1], .v = x[2]};
         const Tensor p = attention(f.ops(), inputs, kHeads).probabilities;
         const Qkv gradients =
             attention_backward(f.ops(), {.inputs = inputs, .probabilities = p}, kHeads, dy);
         return {gradients.q, gradients.k, gradients.v};
       }},
      {.name = "smoothed_cross_entropy_with_padding",
       .inputs = {{4, 9}},
       .output = {4},
       .forward =
           [](OpFixture& f, const std::vector<Tensor>& x) {
             const ShardLogits logits = shard_logits(f, x[0]);
             const Tensor stats = logits_stats(f.ops(), logits, logits_max(f.ops(), logits));
             return token_loss(f.ops(), stats, kSmoothing);
           },
       .backward =
           [](OpFixture& f, const std::vector<Tensor>& x, const Tensor& dy) -> std::vector<Tensor> {
         const ShardLogits logits = shard_logits(f, x[0]);
         const Tensor max_T = logits_max(f.ops(), logits);
         const Tensor stats = logits_stats(f.ops(), logits, max_T);
         return {logits_backward(
             f.ops(), {.logits = logits, .max_T = max_T, .stats_3T = stats}, kSmoothing, dy)};
       }},
  };
}

std::vector<Function> all_functions() {
  std::vector<Function> all = activations();
  for (const Function& function : norms()) all.push_back(function);
  for (const Function& function : attention_and_loss()) all.push_back(function);
  return all;
}

class Jacobian : public testing::TestWithParam<Function> {
 protected:
  Jacobian() {
    for (const Shape& shape : GetParam().inputs) inputs_.push_back(fixture_.random(shape));
    dy_ = fixture_.random(GetParam().output);
    gradients_ = GetParam().backward(fixture_, inputs_, dy_);
  }
  Tensor forward() { return GetParam().forward(fixture_, inputs_); }

  OpFixture fixture_;
  std::vector<Tensor> inputs_;
  Tensor dy_;
  std::vector<Tensor> gradients_;
};

TEST_P(Jacobian, BackwardAgreesWithFiniteDifferencesInEveryElement) {
  ASSERT_EQ(gradients_.size(), inputs_.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::vector<double> numeric =
        numeric_gradient(inputs_[i], dy_, [&] { return forward(); });
    EXPECT_LT(relative_error(values_of(gradients_[i]), numeric), 1e-8) << "input " << i;
  }
}

TEST_P(Jacobian, BackwardIsTheAdjointAlongRandomDirections) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    for (int repetition = 0; repetition < 4; ++repetition) {
      const Tensor direction = fixture_.random(GetParam().inputs[i]);
      const double forward_side =
          directional_derivative(inputs_[i], direction, dy_, [&] { return forward(); });
      EXPECT_NEAR(forward_side, inner(direction, gradients_[i]), 1e-8) << "input " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Jacobian, testing::ValuesIn(all_functions()), [](const auto& row) {
  return row.param.name;
});

}  // namespace
}  // namespace lockstep
