// What is traced: names and shapes in execution order, sequence-major rows, and that the traced
// values are those that the model goes on with.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/model/describe_model.h"
#include "matrix/reference/reference.h"
#include "tests/matrix/reference/small_case.h"

namespace lockstep::test {
namespace {

using Row = std::pair<std::string, std::vector<std::int64_t>>;

std::vector<Row> rows_of(const std::vector<sim::OracleTensor>& activations) {
  std::vector<Row> rows;
  for (const sim::OracleTensor& activation : activations) {
    rows.emplace_back(activation.name, activation.shape);
  }
  return rows;
}

TEST(ReferenceActivations, OfTinyDenseAreTheListedOnesInExecutionOrder) {
  Case c = preset_case("tiny-dense");
  c.model.num_hidden_layers = 1;
  const sim::Oracle oracle = matrix::compute_reference(c);
  for (const sim::OracleStep& step : oracle.steps) {
    ASSERT_EQ(step.activations.size(), 12U);
    for (const std::vector<sim::OracleTensor>& activations : step.activations) {
      EXPECT_EQ(rows_of(activations),
                (std::vector<Row>{{"embedding", {32, 32}},
                                  {"decoder.layers.0.self_attention.linear_qkv", {32, 96}},
                                  {"decoder.layers.0.self_attention.core_attention", {32, 64}},
                                  {"decoder.layers.0.self_attention.linear_proj", {32, 32}},
                                  {"decoder.layers.0.mlp.activation_func", {32, 48}},
                                  {"decoder.layers.0.mlp.linear_fc2", {32, 32}},
                                  {"decoder.final_layernorm", {32, 32}},
                                  {"output_layer", {32, 90}}}));
    }
  }
}

TEST(ReferenceActivations, AreTheCoresByNameAndShapeForEveryVariant) {
  for (const Variant& variant : kVariants) {
    SCOPED_TRACE(variant.name);
    Case c = small_dense_case();
    variant.edit(c);
    std::vector<Row> expected;
    for (const ActivationSpec& spec : describe_activations(c)) {
      expected.emplace_back(spec.name, spec.full_shape);
    }
    EXPECT_EQ(rows_of(matrix::compute_reference(c).steps[0].activations[1]), expected);
  }
}

// Rows of a micro-batch of three samples are those of three micro-batches of one.
TEST(ReferenceActivations, AreSequenceMajor) {
  Case c = small_dense_case();
  c.recipe.global_batch = 6;
  c.recipe.micro_batch = 1;
  const sim::Oracle alone = matrix::compute_reference(c);
  c.recipe.micro_batch = 3;
  const sim::Oracle together = matrix::compute_reference(c);
  ASSERT_EQ(together.steps[0].activations.size(), 2U);
  for (std::size_t i = 0; i < together.steps[0].activations[1].size(); ++i) {
    const sim::OracleTensor& activation = together.steps[0].activations[1][i];
    const auto width = static_cast<std::size_t>(activation.shape[1]);
    for (std::size_t s = 0; s < 5; ++s) {
      for (std::size_t b = 0; b < 3; ++b) {
        const sim::OracleTensor& own = alone.steps[0].activations[3 + b][i];
        for (std::size_t j = 0; j < width; ++j) {
          EXPECT_NEAR(activation.values[(s * 3 + b) * width + j], own.values[s * width + j], 1e-14)
              << activation.name;
        }
      }
    }
  }
}

// The residual stream is the sum of the embedding and of every block's traced output.
TEST(ReferenceActivations, OfTheBlocksAddUpToTheFinalNormsInput) {
  Case c = small_dense_case();
  c.model.bias = true;
  const sim::Oracle oracle = matrix::compute_reference(c);
  const std::span<const double> weight = [&] {
    for (const sim::OracleTensor& parameter : oracle.initial_parameters) {
      if (parameter.name == "decoder.final_layernorm.weight") return std::span(parameter.values);
    }
    return std::span<const double>();
  }();
  ASSERT_EQ(weight.size(), 6U);
  std::map<std::string, std::vector<double>> by_name;
  std::vector<double> stream(60);
  for (const sim::OracleTensor& activation : oracle.steps[0].activations[0]) {
    by_name[activation.name] = activation.values;
    if (activation.shape[1] != 6 || activation.name == "decoder.final_layernorm") continue;
    for (std::size_t i = 0; i < stream.size(); ++i) stream[i] += activation.values[i];
  }
  for (std::size_t t = 0; t < 10; ++t) {
    double squares = 0.0;
    for (std::size_t j = 0; j < 6; ++j) squares += stream[t * 6 + j] * stream[t * 6 + j];
    const double root = std::sqrt(squares / 6.0 + c.model.norm_eps);
    for (std::size_t j = 0; j < 6; ++j) {
      EXPECT_NEAR(by_name.at("decoder.final_layernorm")[t * 6 + j],
                  stream[t * 6 + j] / root * weight[j],
                  1e-14);
    }
  }
}

}  // namespace
}  // namespace lockstep::test
