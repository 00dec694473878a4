// Every layout starts from the same full model; padded rows start, and stay, at zero.
#include "core/train/init.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/config/data.h"
#include "core/config/presets.h"
#include "core/model/describe_model.h"
#include "core/ops/host.h"
#include "core/train/update.h"
#include "tests/support/rank_fixture.h"

namespace lockstep {
namespace {

TEST(InitPlan, GoldenText) {
  Case c = preset_case("tiny-linear");
  c.model.num_hidden_layers = 1;
  c.layout.tp = 2;
  c.recipe.seed = 5;
  EXPECT_EQ(to_text(plan_init(describe_model(c.model, c.layout), c.recipe)),
            "init.embedding.word_embeddings.weight: parameter 0, weight, seed 5, fan-in 1, dim 0 "
            "over tp in 2 of 48\n"
            "init.decoder.layers.0.mlp.linear_fc1.layer_norm_weight: parameter 1, norm weight, "
            "seed 5, fan-in 1\n"
            "init.decoder.layers.0.mlp.linear_fc1.weight: parameter 2, weight, seed 5, fan-in 32, "
            "dim 0 over tp in 2 of 24\n"
            "init.decoder.layers.0.mlp.linear_fc2.weight: parameter 3, weight, seed 5, fan-in 48, "
            "dim 1 over tp in 2 of 24\n"
            "init.decoder.final_layernorm.weight: parameter 4, norm weight, seed 5, fan-in 1\n"
            "init.output_layer.weight: parameter 5, weight, seed 5, fan-in 32, dim 0 over tp in 2 "
            "of 48\n");
}

// Element [row, column] of the full tensor.
double element(const Case& c, const ParameterSpec& spec, std::int64_t row, std::int64_t column) {
  const std::int64_t width = spec.full_shape.size() == 1 ? 1 : spec.full_shape[1];
  return InitialValues(c.recipe.seed, spec.name, spec.init, spec.fan_in)[row * width + column];
}

TEST(Initialise, EachRankHoldsItsPartOfTheSameModelAndZerosInThePadding) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = 8;
  c.layout.dp = 2;
  const ParameterTable table = describe_model(c.model, c.layout);
  const auto report = test::spawn_contexts(c.layout, [&](const RankContext& context) {
    const Parameters parameters(context.ops, table);
    const OptimizerState state(context.ops, plan_update(table, c.recipe).state, parameters);
    initialise(context, plan_init(table, c.recipe), table, state);
    const int tp = context.group_rank(GroupKind::kTp).value;
    const Tensor embedding = parameters[{0}].value;  // 16 rows a rank, 90 real
    for (std::int64_t row = 0; row < 16; ++row) {
      const std::int64_t global = tp * 16 + row;
      const double expected = global < 90 ? element(c, table[0], global, 3) : 0.0;
      EXPECT_EQ(embedding.data<double>()[row * 32 + 3], expected);
    }
    const ParameterId fc2 = find_parameter(table, "decoder.layers.1.mlp.linear_fc2.weight");
    const ParameterSpec& spec = table[static_cast<std::size_t>(fc2.value)];
    for (std::int64_t column = 0; column < 6; ++column) {
      EXPECT_EQ(parameters[fc2].value.data<double>()[7 * 6 + column],
                element(c, spec, 7, tp * 6 + column));
    }
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
}

TEST(Initialise, ParametersOfBf16AreRoundedFromMastersOfF32) {
  Case c = preset_case("tiny-linear");
  c.recipe.dtype = Precision::kBF16;
  const ParameterTable table = describe_model(c.model, c.layout);
  test::spawn_contexts(c.layout, [&](const RankContext& context) {
    const OpContext ops{
        .device = context.ops.device, .kernels = context.ops.kernels, .dtype = DType::kBF16};
    const RankContext bf16{.rank = context.rank,
                           .mesh = context.mesh,
                           .ops = ops,
                           .communicators = context.communicators,
                           .mappings = context.mappings};
    const Parameters parameters(ops, table);
    const OptimizerState state(ops, plan_update(table, c.recipe).state, parameters);
    initialise(bf16, plan_init(table, c.recipe), table, state);
    const std::vector<double> masters = read_reals(ops, state.masters()[2], "test.read");
    const std::vector<double> rounded = read_reals(ops, parameters[{2}].value, "test.read");
    for (std::int64_t i = 0; i < 48 * 32; ++i) {
      const double exact = element(c, table[2], i / 32, i % 32);
      const auto at = static_cast<std::size_t>(i);
      EXPECT_EQ(masters[at], static_cast<float>(exact));
      EXPECT_NEAR(rounded[at], exact, std::abs(exact) / 256.0);
    }
    EXPECT_NE(masters, rounded);
  });
}

}  // namespace
}  // namespace lockstep
