// A decoder layer's recorded ops as one chain: against finite differences, and in two calls.
#include <gtest/gtest.h>

#include "core/autograd/functions.h"
#include "core/ops/elementwise.h"
#include "tests/core/autograd/recording_sink.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::numeric_gradient;
using test::OpFixture;
using test::RecordingSink;
using test::relative_error;
using test::values_of;

constexpr double kEps = 1e-3;
constexpr std::int64_t kHidden = 8;
constexpr std::int64_t kRows = 6;  // 3 tokens of 2 samples
constexpr QkvGroups kGroups{.groups = 2, .queries = 2, .head_dim = 2};
constexpr AttentionSizes kHeads{
    .batch = 2, .num_heads = 4, .num_kv_heads = 2, .head_dim = 2, .scale = 0.7};

// Layer norm, fused projection with bias, rotation, attention with q norm, output projection, a
// gated MLP, and the two residual sums.
struct Layer {
  explicit Layer(OpFixture& fixture) {
    const std::vector<Shape> shapes{{8}, {8}, {16, 8}, {16}, {2}, {8, 8}, {12, 8}, {8, 6}};
    for (const Shape& shape : shapes) {
      parameters.push_back(
          {.id = {static_cast<int>(parameters.size())}, .value = fixture.random(shape)});
    }
    tables = rope_tables(fixture.ops(), std::vector<std::int64_t>{0, 1, 2}, 2, 100.0);
  }

  Variable forward(Tape& tape, const Variable& x) const {
    const std::vector<Parameter>& p = parameters;
    const Variable normed = layer_norm(tape, x, {.g = p[0], .b = p[1]}, kEps);
    const Variable fused = add_bias(tape, linear(tape, normed, p[2]), p[3]);
    const QkvVariables qkv = split_qkv(tape, fused, kGroups);
    const Variable heads = reshaped(tape, qkv.q, {kRows * 4, 2});
    const Variable q = reshaped(tape, rms_norm(tape, heads, p[4], kEps), {kRows, kHidden});
    const QkvVariables turned{
        .q = rope(tape, q, tables, 2), .k = rope(tape, qkv.k, tables, 2), .v = qkv.v};
    const Variable mixed = linear(tape, attention(tape, turned, kHeads), p[5]);
    const Variable middle = add(tape, x, mixed);
    const Variable mlp = linear(tape, gated_silu(tape, linear(tape, middle, p[6])), p[7]);
    return add(tape, middle, mlp);
  }

  std::vector<Parameter> parameters;
  RopeTables tables;
};

class AttentionFunctions : public testing::Test, protected OpFixture {
 protected:
  Layer layer_{*this};
  Tensor x_ = random({kRows, kHidden});
  Tensor seed_ = random({kRows, kHidden});
  RecordingSink sink_{ops()};
};

TEST_F(AttentionFunctions, ADecoderLayerAgreesWithFiniteDifferencesInInputAndParameters) {
  Tape tape(ops());
  const Variable x = tape.input(x_);
  const Variable y = layer_.forward(tape, x);
  const Tensor dx = tape.backward({&y, 1}, {&seed_, 1}, {&x, 1}, sink_)[0];
  const auto again = [&] {
    Tape fresh(ops());
    return layer_.forward(fresh, fresh.input(x_)).value;
  };
  EXPECT_LT(relative_error(values_of(dx), numeric_gradient(x_, seed_, again)), 1e-8);
  for (const Parameter& parameter : layer_.parameters) {
    EXPECT_LT(relative_error(values_of(sink_.gradients.at(parameter.id.value)),
                             numeric_gradient(parameter.value, seed_, again)),
              1e-8)
        << "parameter " << parameter.id.value;
  }
  EXPECT_EQ(sink_.order.size(), layer_.parameters.size());
}

TEST_F(AttentionFunctions, SplitBackwardGivesTheBitsOfTheWholeOne) {
  Tape whole(ops());
  const Variable whole_x = whole.input(x_);
  const Variable whole_y = layer_.forward(whole, whole_x);
  const Tensor whole_dx = whole.backward({&whole_y, 1}, {&seed_, 1}, {&whole_x, 1}, sink_)[0];
  Tape split(ops());
  RecordingSink split_sink(ops());
  const Variable split_x = split.input(x_);
  const Variable split_y = layer_.forward(split, split_x);
  const Tensor split_dx = split.backward(
      {&split_y, 1}, {&seed_, 1}, {&split_x, 1}, split_sink, BackwardMode::kInputOnly)[0];
  EXPECT_TRUE(split_sink.gradients.empty());
  split.backward_weights(split_sink);
  EXPECT_EQ(values_of(split_dx), values_of(whole_dx));
  for (const Parameter& parameter : layer_.parameters) {
    EXPECT_EQ(values_of(split_sink.gradients.at(parameter.id.value)),
              values_of(sink_.gradients.at(parameter.id.value)));
  }
}

TEST_F(AttentionFunctions, APartOfTheProjectionThatNothingUsedGetsZeros) {
  Tape tape(ops());
  const Variable fused = tape.input(random({kRows, 16}));
  const QkvVariables qkv = split_qkv(tape, fused, kGroups);
  const Tensor seed = random({kRows, 4});
  const Tensor dx = tape.backward({&qkv.k, 1}, {&seed, 1}, {&fused, 1}, sink_)[0];
  const Qkv parts = split_qkv(ops(), dx, kGroups);
  EXPECT_EQ(values_of(parts.k), values_of(seed));
  EXPECT_EQ(values_of(parts.q), std::vector<double>(kRows * 8, 0.0));
  EXPECT_EQ(values_of(parts.v), std::vector<double>(kRows * 4, 0.0));
}

TEST_F(AttentionFunctions, ColumnsGiveTheirGradientBackToWhereTheyWere) {
  Tape tape(ops());
  const Variable x = tape.input(x_);
  const Variable part = columns(tape, x, 2, 3);
  const Tensor seed = random({kRows, 3});
  const Tensor dx = tape.backward({&part, 1}, {&seed, 1}, {&x, 1}, sink_)[0];
  EXPECT_EQ(values_of(dx), values_of(columns_padded(ops(), seed, 2, kHidden)));
}

class AttentionFunctionsInBF16 : public testing::Test, protected OpFixture {
 protected:
  AttentionFunctionsInBF16() : OpFixture(DType::kBF16, DType::kBF16) {}
};

TEST_F(AttentionFunctionsInBF16, ADecoderLayerKeepsItsElementTypeThroughout) {
  const Layer layer(*this);
  Tape tape(ops());
  RecordingSink sink(ops());
  const Variable x = tape.input(random({kRows, kHidden}));
  const Variable y = layer.forward(tape, x);
  const Tensor seed = random({kRows, kHidden});
  const Tensor dx = tape.backward({&y, 1}, {&seed, 1}, {&x, 1}, sink)[0];
  EXPECT_EQ(y.value.dtype, DType::kBF16);
  EXPECT_EQ(dx.dtype, DType::kBF16);
  for (const auto& [id, gradient] : sink.gradients) {
    EXPECT_EQ(gradient.dtype, DType::kBF16) << "parameter " << id;
  }
}

}  // namespace
}  // namespace lockstep
