// Every computing kernel in f32 and bf16 against itself in f64 on the same inputs; attention's are
// in attention_precision_test.cpp.
#include "tests/core/ops/precision.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "core/ops/attention.h"
#include "core/ops/dropout.h"
#include "core/ops/elementwise.h"
#include "core/ops/linear.h"
#include "core/ops/norm.h"
#include "core/ops/optimizer.h"
#include "core/ops/vocabulary.h"

namespace lockstep {
namespace {

using test::OpFixture;
using Op = test::OpWithPrecision;

constexpr double kEps = 1e-3;
constexpr std::int64_t kRows = 24;
constexpr std::int64_t kWidth = 32;

std::vector<Op> products_and_sums() {
  return {
      {"linear",
       4,
       [](OpFixture& f) {
         const Tensor x = f.random({kRows, kWidth});
         return linear(f.ops(), x, f.random({48, kWidth}));
       }},
      {"linear_backward_input",
       4,
       [](OpFixture& f) {
         const Tensor weight = f.random({48, kWidth});
         return linear_backward_input(f.ops(), {.x = {}, .weight = weight}, f.random({kRows, 48}));
       }},
      {"linear_backward_weight",
       4,
       [](OpFixture& f) {
         const Tensor x = f.random({kRows, kWidth});
         return linear_backward_weight(f.ops(), {.x = x, .weight = {}}, f.random({kRows, 48}));
       }},
      {"add_bias",
       0.01,
       [](OpFixture& f) {
         const Tensor x = f.random({kRows, kWidth});
         return add_bias(f.ops(), x, f.random({kWidth}));
       }},
      {"add_bias_backward_bias",
       1,
       [](OpFixture& f) {
         return add_bias_backward_bias(f.ops(), f.random({kRows, kWidth}));
       }},
      {"weighted_sum",
       1,
       [](OpFixture& f) {
         const Tensor x = f.random({kRows});
         return weighted_sum(f.ops(), x, f.random({kRows}));
       }},
      {"embedding_backward",
       1,
       [](OpFixture& f) {
         const Tensor ids = f.integers({3, 0, 3, 3, 1, 3});
         return embedding_backward(
             f.ops(),
             {.ids = ids, .weight_shape = {4, 8}, .shard = {.first_row = 0, .num_real = 4}},
             f.random({6, 8}));
       }},
  };
}

std::vector<Op> elementwise_ops() {
  return {
      {"silu", 1, [](OpFixture& f) { return silu(f.ops(), f.random({200})); }},
      {"silu_backward",
       2,
       [](OpFixture& f) {
         const Tensor x = f.random({200});
         return silu_backward(f.ops(), {.x = x}, f.random({200}));
       }},
      {"gated_silu",
       2,
       [](OpFixture& f) {
         return gated_silu(f.ops(), f.random({kRows, 2 * kWidth}));
       }},
      {"gated_silu_backward",
       2,
       [](OpFixture& f) {
         const Tensor x = f.random({kRows, 2 * kWidth});
         return gated_silu_backward(f.ops(), {.x = x}, f.random({kRows, kWidth}));
       }},
      {"add",
       0.01,
       [](OpFixture& f) {
         const Tensor a = f.random({200});
         return add(f.ops(), a, f.random({200}));
       }},
      {"scaled_by",
       0.01,
       [](OpFixture& f) {
         const Tensor x = f.random({200});
         return scaled_by(f.ops(), x, f.random({1}));
       }},
      {"scale_in_place",
       0.5,
       [](OpFixture& f) {
         const Tensor x = f.random({200});
         scale_in_place(f.ops(), x, 1.0 / 3.0, "test");
         return x;
       }},
      {"accumulate_in_the_accumulation_type",
       0.01,
       [](OpFixture& f) {
         const Tensor sum = f.random_main({200});
         accumulate(f.ops(), {.x = f.random({200}), .sum = sum}, "test");
         return sum;
       }},
      {"accumulate_in_its_own_type",
       0.01,
       [](OpFixture& f) {
         const Tensor sum = f.random({200});
         accumulate(f.ops(), {.x = f.random({200}), .sum = sum}, "test");
         return sum;
       }},
  };
}

// Those that go by the place of a row.
std::vector<Op> ops_by_place() {
  return {
      {"dropout",
       0.5,
       [](OpFixture& f) {
         const Tensor rows = f.integers({4, 0, -1, 9});
         return dropout(f.ops(),
                        f.random({4, kWidth}),
                        {.rows = rows, .width = kWidth},
                        {.probability = 0.3, .seed = 1, .stream = 2});
       }},
      {"rope",
       1,
       [](OpFixture& f) {
         const RopeTables tables =
             rope_tables(f.ops(), std::vector<std::int64_t>{0, 1, 2, 30}, 8, 1e4);
         return rope(f.ops(), f.random({8, kWidth}), tables, 2, RopeDirection::kForward);
       }},
  };
}

RmsNormSaved rms_saved(OpFixture& f) {
  const Tensor x = f.random({kRows, kWidth});
  const Tensor g = f.random({kWidth});
  return {.x = x, .g = g, .inverse_rms_T = rms_norm(f.ops(), x, g, kEps).inverse_rms_T};
}

LayerNormSaved layer_saved(OpFixture& f) {
  const Tensor x = f.random({kRows, kWidth});
  const LayerNormWeights weights{.g = f.random({kWidth}), .b = f.random({kWidth})};
  const LayerNormResult result = layer_norm(f.ops(), x, weights, kEps);
  return {.x = x, .g = weights.g, .mean_T = result.mean_T, .inverse_std_T = result.inverse_std_T};
}

std::vector<Op> norm_ops() {
  return {
      {"rms_norm",
       3,
       [](OpFixture& f) {
         const Tensor x = f.random({kRows, kWidth});
         return rms_norm(f.ops(), x, f.random({kWidth}), kEps).y;
       }},
      {"rms_norm_backward_input",
       6,
       [](OpFixture& f) {
         const RmsNormSaved saved = rms_saved(f);
         return rms_norm_backward_input(f.ops(), saved, f.random({kRows, kWidth}));
       }},
      {"rms_norm_backward_weight",
       3,
       [](OpFixture& f) {
         const RmsNormSaved saved = rms_saved(f);
         return rms_norm_backward_weight(f.ops(), saved, f.random({kRows, kWidth}));
       }},
      {"layer_norm",
       3,
       [](OpFixture& f) {
         const Tensor x = f.random({kRows, kWidth});
         const Tensor g = f.random({kWidth});
         return layer_norm(f.ops(), x, {.g = g, .b = f.random({kWidth})}, kEps).y;
       }},
      {"layer_norm_backward_input",
       4,
       [](OpFixture& f) {
         const LayerNormSaved saved = layer_saved(f);
         return layer_norm_backward_input(f.ops(), saved, f.random({kRows, kWidth}));
       }},
      {"layer_norm_backward_weight",
       3,
       [](OpFixture& f) {
         const LayerNormSaved saved = layer_saved(f);
         return layer_norm_backward_weight(f.ops(), saved, f.random({kRows, kWidth}));
       }},
  };
}

ShardLogits shard_logits(OpFixture& f) {
  const Tensor logits = f.random({6, 40});
  return {.logits = logits,
          .labels = f.integers({0, 5, 36, 3, 17, 8}),
          .shard = {.first_row = 0, .num_real = 37}};
}

constexpr LabelSmoothing kSmoothing{.weight = 0.1, .vocabulary = 37};

std::vector<Op> loss_ops() {
  return {
      {"logits_max", 0, [](OpFixture& f) { return logits_max(f.ops(), shard_logits(f)); }},
      {"logits_stats",
       2,
       [](OpFixture& f) {
         const ShardLogits logits = shard_logits(f);
         return logits_stats(f.ops(), logits, logits_max(f.ops(), logits));
       }},
      {"token_loss",
       1,
       [](OpFixture& f) {
         const ShardLogits logits = shard_logits(f);
         const Tensor stats = logits_stats(f.ops(), logits, logits_max(f.ops(), logits));
         return token_loss(f.ops(), stats, kSmoothing);
       }},
      {"logits_backward",
       1,
       [](OpFixture& f) {
         const ShardLogits logits = shard_logits(f);
         const Tensor max_T = logits_max(f.ops(), logits);
         const Tensor stats = logits_stats(f.ops(), logits, max_T);
         return logits_backward(f.ops(),
                                {.logits = logits, .max_T = max_T, .stats_3T = stats},
                                kSmoothing,
                                f.random_main({6}));
       }},
  };
}

std::vector<Op> optimizer_ops() {
  return {
      {"sgd",
       0.5,
       [](OpFixture& f) {
         const Tensor master = f.random_main({64});
         const Tensor parameter = f.random({64});
         sgd_update(f.ops(),
                    {.gradient = f.random_main({64}),
                     .master = master,
                     .parameter = parameter,
                     .lr = 0.1,
                     .weight_decay = 0.1},
                    "test");
         return parameter;
       }},
      {"adamw",
       0.5,
       [](OpFixture& f) {
         const Tensor parameter = f.random({64});
         const Tensor exp_avg_sq = f.random_main({64});
         const Tensor zeros = f.reals(f.ops().main_dtype(), std::vector<double>(64, 0.0), {64});
         fill(f.ops(), exp_avg_sq, 0.25, "test");
         adamw_update(f.ops(),
                      {.gradient = f.random_main({64}),
                       .master = f.random_main({64}),
                       .exp_avg = zeros,
                       .exp_avg_sq = exp_avg_sq,
                       .parameter = parameter,
                       .lr = 0.01,
                       .beta1 = 0.9,
                       .beta2 = 0.95,
                       .eps = 1e-8,
                       .weight_decay = 0.1,
                       .step = 3},
                      "test");
         return parameter;
       }},
  };
}

std::vector<Op> all_ops() {
  std::vector<Op> all = products_and_sums();
  for (const std::vector<Op>& more :
       {elementwise_ops(), ops_by_place(), norm_ops(), loss_ops(), optimizer_ops()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

using OpInType = std::tuple<Op, DType>;

class InType : public testing::TestWithParam<OpInType> {};

TEST_P(InType, IsF64RoundedOnceUpToItsArithmetic) {
  const auto& [op, dtype] = GetParam();
  const double worst = test::ulps_of_arithmetic(op, dtype);
  EXPECT_LE(worst, op.ulps_max);
  RecordProperty("worst", std::to_string(worst));
}

INSTANTIATE_TEST_SUITE_P(Of,
                         InType,
                         testing::Combine(testing::ValuesIn(all_ops()),
                                          testing::Values(DType::kF32, DType::kBF16)),
                         [](const auto& row) {
                           return std::get<0>(row.param).name + "_" +
                                  std::string(name_of(std::get<1>(row.param)));
                         });

}  // namespace
}  // namespace lockstep
