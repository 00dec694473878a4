// <A x, y> = <x, A^T y> for every linear kernel pair in f64; lower precisions are held against f64
// in precision_test.cpp.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "core/ops/attention.h"
#include "core/ops/dropout.h"
#include "core/ops/elementwise.h"
#include "core/ops/linear.h"
#include "core/ops/vocabulary.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::inner;
using test::OpFixture;

// A linear op and what is claimed to be its adjoint, between tensors of two shapes.
struct LinearPair {
  std::string name;
  Shape x;
  Shape y;
  std::function<Tensor(OpFixture&, const Tensor&)> apply;
  std::function<Tensor(OpFixture&, const Tensor&)> adjoint;
};

// Constants of an op: the same ones for both halves of a pair.
Tensor constant(OpFixture& fixture, const Shape& shape) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    values.push_back(static_cast<double>((i * 37 + 11) % 64) / 32.0 - 1.0);
  }
  return fixture.reals(values, shape);
}

constexpr QkvGroups kGroups{.groups = 2, .queries = 3, .head_dim = 4};
constexpr std::int64_t kQkvWidth = 2 * (3 + 2) * 4;

// q, k and v side by side, so that a pair stays between two tensors.
Tensor parts_in_line(const OpContext& ops, const Qkv& parts) {
  const Tensor q = columns_padded(ops, parts.q, 0, kQkvWidth);
  const Tensor k = columns_padded(ops, parts.k, 24, kQkvWidth);
  const Tensor v = columns_padded(ops, parts.v, 32, kQkvWidth);
  return add(ops, add(ops, q, k), v);
}

Qkv parts_of_line(const OpContext& ops, const Tensor& line) {
  return {.q = columns(ops, line, 0, 24),
          .k = columns(ops, line, 24, 8),
          .v = columns(ops, line, 32, 8)};
}

RopeTables tables(const OpContext& ops) {
  return rope_tables(ops, std::vector<std::int64_t>{0, 1, 5, 11}, 6, 100.0);
}

Tensor ids(OpFixture& fixture) { return fixture.integers({3, 0, 5, 3, 4, 7}); }
constexpr VocabularyShard kShard{.first_row = 3, .num_real = 3};

std::vector<LinearPair> pairs_of_linear_maps() {
  return {
      {.name = "linear_in_x",
       .x = {9, 7},
       .y = {9, 5},
       .apply =
           [](OpFixture& f, const Tensor& x) {
             return linear(f.ops(), x, constant(f, {5, 7}));
           },
       .adjoint =
           [](OpFixture& f, const Tensor& y) {
             return linear_backward_input(f.ops(), {.x = {}, .weight = constant(f, {5, 7})}, y);
           }},
      {.name = "linear_in_w",
       .x = {5, 7},
       .y = {9, 5},
       .apply =
           [](OpFixture& f, const Tensor& w) {
             return linear(f.ops(), constant(f, {9, 7}), w);
           },
       .adjoint =
           [](OpFixture& f, const Tensor& y) {
             return linear_backward_weight(f.ops(), {.x = constant(f, {9, 7}), .weight = {}}, y);
           }},
      {.name = "bias",
       .x = {5},
       .y = {9, 5},
       .apply =
           [](OpFixture& f, const Tensor& b) {
             const Tensor zeros = f.reals(std::vector<double>(45, 0.0), {9, 5});
             return add_bias(f.ops(), zeros, b);
           },
       .adjoint = [](OpFixture& f, const Tensor& y) { return add_bias_backward_bias(f.ops(), y); }},
  };
}

std::vector<LinearPair> pairs_of_moves() {
  return {
      {.name = "columns",
       .x = {4, 9},
       .y = {4, 5},
       .apply = [](OpFixture& f, const Tensor& x) { return columns(f.ops(), x, 3, 5); },
       .adjoint = [](OpFixture& f, const Tensor& y) { return columns_padded(f.ops(), y, 3, 9); }},
      {.name = "columns_joined",
       .x = {3, 4, 5},
       .y = {4, 15},
       .apply =
           [](OpFixture& f, const Tensor& x) {
             return columns_joined(f.ops(), x, 3, {4, 15});
           },
       .adjoint = [](OpFixture& f, const Tensor& y) { return columns_split(f.ops(), y, 3); }},
      {.name = "split_qkv",
       .x = {6, kQkvWidth},
       .y = {6, kQkvWidth},
       .apply =
           [](OpFixture& f, const Tensor& x) {
             return parts_in_line(f.ops(), split_qkv(f.ops(), x, kGroups));
           },
       .adjoint =
           [](OpFixture& f, const Tensor& y) {
             return join_qkv(f.ops(), parts_of_line(f.ops(), y), kGroups);
           }},
      {.name = "rope",
       .x = {8, 12},
       .y = {8, 12},
       .apply =
           [](OpFixture& f, const Tensor& x) {
             return rope(f.ops(), x, tables(f.ops()), 2, RopeDirection::kForward);
           },
       .adjoint =
           [](OpFixture& f, const Tensor& y) {
             return rope(f.ops(), y, tables(f.ops()), 2, RopeDirection::kBack);
           }},
      {.name = "embedding",
       .x = {3, 4},
       .y = {6, 4},
       .apply = [](OpFixture& f, const Tensor& w) { return embedding(f.ops(), ids(f), w, kShard); },
       .adjoint =
           [](OpFixture& f, const Tensor& y) {
             return embedding_backward(
                 f.ops(), {.ids = ids(f), .weight_shape = {3, 4}, .shard = kShard}, y);
           }},
  };
}

// Those that are their own adjoint, and the weighted sum.
std::vector<LinearPair> pairs_of_sums() {
  const auto scaled = [](OpFixture& f, const Tensor& x) {
    return scaled_by(f.ops(), x, f.reals({0.375}, {1}));
  };
  const auto accumulated = [](OpFixture& f, const Tensor& x) {
    const Tensor sum = f.reals(std::vector<double>(12, 0.0), {3, 4});
    accumulate(f.ops(), {.x = x, .sum = sum}, "test.accumulate");
    return sum;
  };
  const auto dropped = [](OpFixture& f, const Tensor& x) {
    const Tensor rows = f.integers({5, -1, 40});
    return dropout(f.ops(),
                   x,
                   {.rows = rows, .width = 9, .first_column = 2},
                   {.probability = 0.4, .seed = 1, .stream = 2});
  };
  const auto as_f64 = [](OpFixture& f, const Tensor& x) {
    return converted(f.ops(), x, DType::kF64);
  };
  return {
      {.name = "dropout", .x = {3, 4}, .y = {3, 4}, .apply = dropped, .adjoint = dropped},
      {.name = "converted", .x = {3, 4}, .y = {3, 4}, .apply = as_f64, .adjoint = as_f64},
      {.name = "scaled_by", .x = {3, 4}, .y = {3, 4}, .apply = scaled, .adjoint = scaled},
      {.name = "accumulate",
       .x = {3, 4},
       .y = {3, 4},
       .apply = accumulated,
       .adjoint = accumulated},
      {.name = "weighted_sum",
       .x = {12},
       .y = {1},
       .apply = [](OpFixture& f,
                   const Tensor& x) { return weighted_sum(f.ops(), x, constant(f, {12})); },
       .adjoint = [](OpFixture& f,
                     const Tensor& y) { return scaled_by(f.ops(), constant(f, {12}), y); }},
  };
}

std::vector<LinearPair> all_pairs() {
  std::vector<LinearPair> all = pairs_of_linear_maps();
  for (const LinearPair& pair : pairs_of_moves()) all.push_back(pair);
  for (const LinearPair& pair : pairs_of_sums()) all.push_back(pair);
  return all;
}

class Adjoint : public testing::TestWithParam<LinearPair> {};

TEST_P(Adjoint, HasTheSameInnerProductsOnBothSides) {
  OpFixture fixture;
  const Tensor x = fixture.random(GetParam().x);
  const Tensor y = fixture.random(GetParam().y);
  const double forward = inner(GetParam().apply(fixture, x), y);
  const double backward = inner(x, GetParam().adjoint(fixture, y));
  EXPECT_GT(std::abs(forward), 1e-3) << "nothing is compared";
  EXPECT_NEAR(forward, backward, 1e-14 * static_cast<double>(x.num_elements()));
}

INSTANTIATE_TEST_SUITE_P(Of, Adjoint, testing::ValuesIn(all_pairs()), [](const auto& row) {
  return row.param.name;
});

}  // namespace
}  // namespace lockstep
