// Core and reference share no code, so that their lists of parameters are held against each other.
#include "matrix/reference/parameters.h"

#include <gtest/gtest.h>

#include "core/config/presets.h"
#include "core/model/describe_model.h"
#include "tests/matrix/reference/small_case.h"

namespace lockstep::test {
namespace {

void expect_same_list(const Model& model, const Layout& layout) {
  const ParameterTable core = describe_model(model, layout);
  const std::vector<matrix::ParameterInfo> reference = matrix::list_parameters(model);
  ASSERT_EQ(core.size(), reference.size());
  for (std::size_t i = 0; i < core.size(); ++i) {
    EXPECT_EQ(core[i].name, reference[i].name);
    EXPECT_EQ(core[i].full_shape, reference[i].shape) << core[i].name;
    EXPECT_EQ(core[i].init, reference[i].kind) << core[i].name;
    // Only a weight's start depends on its fan-in.
    if (core[i].init != InitKind::kWeight) continue;
    EXPECT_EQ(core[i].fan_in, reference[i].fan_in) << core[i].name;
  }
}

struct Sizes {
  std::int64_t hidden;
  std::int64_t ffn;
  std::int64_t vocabulary;
  std::int64_t layers;
};

TEST(ReferenceParameters, AreTheCoresByNameShapeAndStartWhateverTheSizesAndLayout) {
  for (const Sizes& sizes : {Sizes{32, 48, 90, 2}, {3, 24, 2, 1}, {65, 96, 129, 11}}) {
    for (const std::int64_t tp : {1, 2, 8}) {
      Case c = preset_case("tiny-linear");
      c.model.hidden_size = sizes.hidden;
      c.model.intermediate_size = sizes.ffn;
      c.model.vocab_size = sizes.vocabulary;
      c.model.num_hidden_layers = sizes.layers;
      c.layout.tp = tp;
      expect_same_list(c.model, c.layout);
      EXPECT_EQ(matrix::list_parameters(c.model).size(),
                static_cast<std::size_t>(3 + 3 * sizes.layers));
    }
  }
}

TEST(ReferenceParameters, AreTheCoresForEveryVariantOfTheDenseTransformer) {
  for (const Variant& variant : kVariants) {
    for (const std::int64_t tp : {1, 2, 8}) {
      SCOPED_TRACE(variant.name);
      Case c = preset_case("tiny-dense");
      variant.edit(c);
      c.layout.tp = tp;
      expect_same_list(c.model, c.layout);
    }
  }
}

using Row = std::pair<std::string, std::vector<std::int64_t>>;

std::vector<Row> rows_of(const Model& model) {
  std::vector<Row> rows;
  for (const matrix::ParameterInfo& info : matrix::list_parameters(model)) {
    rows.emplace_back(info.name, info.shape);
  }
  return rows;
}

TEST(ReferenceParameters, OfAModelWithEverythingFollowTheForwardPass) {
  Case c = preset_case("tiny-dense");
  c.model.num_hidden_layers = 1;
  c.model.bias = true;
  c.model.norm = Norm::kLayer;
  c.model.attention_sink = true;
  const std::string attention = "decoder.layers.0.self_attention.";
  const std::string mlp = "decoder.layers.0.mlp.";
  EXPECT_EQ(rows_of(c.model),
            (std::vector<Row>{{"embedding.word_embeddings.weight", {90, 32}},
                              {attention + "linear_qkv.layer_norm_weight", {32}},
                              {attention + "linear_qkv.layer_norm_bias", {32}},
                              {attention + "linear_qkv.weight", {96, 32}},
                              {attention + "linear_qkv.bias", {96}},
                              {attention + "q_layernorm.weight", {8}},
                              {attention + "q_layernorm.bias", {8}},
                              {attention + "k_layernorm.weight", {8}},
                              {attention + "k_layernorm.bias", {8}},
                              {attention + "core_attention.softmax_offset", {8}},
                              {attention + "linear_proj.weight", {32, 64}},
                              {attention + "linear_proj.bias", {32}},
                              {mlp + "linear_fc1.layer_norm_weight", {32}},
                              {mlp + "linear_fc1.layer_norm_bias", {32}},
                              {mlp + "linear_fc1.weight", {96, 32}},
                              {mlp + "linear_fc1.bias", {96}},
                              {mlp + "linear_fc2.weight", {32, 48}},
                              {mlp + "linear_fc2.bias", {32}},
                              {"decoder.final_layernorm.weight", {32}},
                              {"decoder.final_layernorm.bias", {32}},
                              {"output_layer.weight", {90, 32}}}));
}

TEST(ReferenceParameters, OfATiedModelHaveNoOutputLayer) {
  Case c = preset_case("tiny-dense");
  const std::size_t untied = matrix::list_parameters(c.model).size();
  c.model.tied = true;
  EXPECT_EQ(matrix::list_parameters(c.model).size(), untied - 1);
  EXPECT_EQ(matrix::list_parameters(c.model).back().name, "decoder.final_layernorm.weight");
}

}  // namespace
}  // namespace lockstep::test
