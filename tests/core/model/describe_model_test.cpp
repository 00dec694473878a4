// The tables of parameters and traced activations, golden.
#include "core/model/describe_model.h"

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "core/config/presets.h"

namespace lockstep {
namespace {

Case one_layer(std::string_view preset) {
  Case c = preset_case(preset);
  c.model.num_hidden_layers = 1;
  return c;
}

TEST(DescribeModel, GoldenTableOfTinyLinearOnFourTensorRanks) {
  Case c = one_layer("tiny-linear");
  c.layout.tp = 4;
  EXPECT_EQ(to_text(describe_model(c.model, c.layout)),
            "embedding.word_embeddings.weight [90, 32] dim 0 over tp in 4 of 24; "
            "gradient tp shard cp partial dp partial pp invariant\n"
            "decoder.layers.0.mlp.linear_fc1.layer_norm_weight [32]; "
            "gradient tp invariant cp partial dp partial pp invariant\n"
            "decoder.layers.0.mlp.linear_fc1.weight [48, 32] dim 0 over tp in 4 of 12; "
            "gradient tp shard cp partial dp partial pp invariant\n"
            "decoder.layers.0.mlp.linear_fc2.weight [32, 48] dim 1 over tp in 4 of 12; "
            "gradient tp shard cp partial dp partial pp invariant\n"
            "decoder.final_layernorm.weight [32]; "
            "gradient tp invariant cp partial dp partial pp invariant\n"
            "output_layer.weight [90, 32] dim 0 over tp in 4 of 24; "
            "gradient tp shard cp partial dp partial pp invariant\n");
}

// Everything that a dense layer can have, under sequence parallelism: replicated parameters are
// partial over tp, and the head is the embedding.
TEST(DescribeModel, GoldenTableOfADenseLayerUnderSequenceParallelism) {
  Case c = one_layer("tiny-dense");
  c.layout.tp = 2;
  c.layout.sp = true;
  c.model.norm = Norm::kLayer;
  c.model.bias = c.model.tied = true;
  const std::string cut = "gradient tp shard cp partial dp partial pp invariant\n";
  const std::string sum = "gradient tp partial cp partial dp partial pp invariant\n";
  const std::string attention = "decoder.layers.0.self_attention.";
  const std::string mlp = "decoder.layers.0.mlp.";
  EXPECT_EQ(to_text(describe_model(c.model, c.layout)),
            "embedding.word_embeddings.weight [90, 32] dim 0 over tp in 2 of 48; " + cut +
                attention + "linear_qkv.layer_norm_weight [32]; " + sum + attention +
                "linear_qkv.layer_norm_bias [32]; " + sum + attention +
                "linear_qkv.weight [96, 32] dim 0 over tp in 2 of 48; " + cut + attention +
                "linear_qkv.bias [96] dim 0 over tp in 2 of 48; " + cut + attention +
                "q_layernorm.weight [8]; " + sum + attention + "q_layernorm.bias [8]; " + sum +
                attention + "k_layernorm.weight [8]; " + sum + attention +
                "k_layernorm.bias [8]; " + sum + attention +
                "linear_proj.weight [32, 64] dim 1 over tp in 2 of 32; " + cut + attention +
                "linear_proj.bias [32]; " + sum + mlp + "linear_fc1.layer_norm_weight [32]; " +
                sum + mlp + "linear_fc1.layer_norm_bias [32]; " + sum + mlp +
                "linear_fc1.weight [96, 32] dim 0 over tp in 2 of 24, in each of 2 blocks; " + cut +
                mlp + "linear_fc1.bias [96] dim 0 over tp in 2 of 24, in each of 2 blocks; " + cut +
                mlp + "linear_fc2.weight [32, 48] dim 1 over tp in 2 of 24; " + cut + mlp +
                "linear_fc2.bias [32]; " + sum + "decoder.final_layernorm.weight [32]; " + sum +
                "decoder.final_layernorm.bias [32]; " + sum);
}

// The public bug: a norm over each head is replicated, and yet its gradient is not.
TEST(DescribeModel, GradientsOfHeadNormsArePartialOverTpWithoutSequenceParallelismToo) {
  Case c = one_layer("tiny-dense");
  c.layout.tp = 2;
  const ParameterTable table = describe_model(c.model, c.layout);
  const auto over_tp = [&](std::string_view name) {
    return table[static_cast<std::size_t>(find_parameter(table, name).value)].gradient_on(
        Axis::kTp);
  };
  EXPECT_EQ(over_tp("decoder.layers.0.self_attention.q_layernorm.weight"), PlacementKind::kPartial);
  EXPECT_EQ(over_tp("decoder.layers.0.self_attention.k_layernorm.weight"), PlacementKind::kPartial);
  EXPECT_EQ(over_tp("decoder.layers.0.self_attention.linear_qkv.layer_norm_weight"),
            PlacementKind::kInvariant);
}

TEST(DescribeModel, GoldenTracesSayWhichRowsAndColumnsARankHolds) {
  Case c = one_layer("tiny-dense");
  c.layout.tp = 2;
  const std::string text =
      "trace embedding [32, 32], own rows\n"
      "trace decoder.layers.0.self_attention.linear_qkv [32, 96], all rows, "
      "dim 1 over tp in 2 of 48\n"
      "trace decoder.layers.0.self_attention.core_attention [32, 64], all rows, "
      "dim 1 over tp in 2 of 32\n"
      "trace decoder.layers.0.self_attention.linear_proj [32, 32], own rows\n"
      "trace decoder.layers.0.mlp.activation_func [32, 48], all rows, dim 1 over tp in 2 of 24\n"
      "trace decoder.layers.0.mlp.linear_fc2 [32, 32], own rows\n"
      "trace decoder.final_layernorm [32, 32], own rows\n"
      "trace output_layer [32, 90], all rows, dim 1 over tp in 2 of 48\n";
  EXPECT_EQ(to_text(describe_activations(c)), text);
  c.layout.sp = true;
  c.layout.cp = 2;
  EXPECT_EQ(to_text(describe_activations(c)), text) << "which rows, a micro-batch says";
}

TEST(DescribeModel, AModelWithoutAttentionTracesNone) {
  EXPECT_EQ(to_text(describe_activations(one_layer("tiny-linear"))),
            "trace embedding [8, 32], own rows\n"
            "trace decoder.layers.0.mlp.activation_func [8, 48], all rows, "
            "dim 1 over tp in 1 of 48\n"
            "trace decoder.layers.0.mlp.linear_fc2 [8, 32], own rows\n"
            "trace decoder.final_layernorm [8, 32], own rows\n"
            "trace output_layer [8, 90], all rows, dim 1 over tp in 1 of 96\n");
}

TEST(DescribeModel, ASinkIsALogitAHeadCutOverTp) {
  Case c = one_layer("tiny-dense");
  c.layout.tp = 4;
  c.model.attention_sink = true;
  const std::string text = to_text(describe_model(c.model, c.layout));
  EXPECT_NE(text.find("decoder.layers.0.self_attention.core_attention.softmax_offset [8] "
                      "dim 0 over tp in 4 of 2; gradient tp shard cp partial dp partial pp "
                      "invariant\n"),
            std::string::npos)
      << text;
}

TEST(DescribeModel, TheVocabularyIsPaddedToAMultipleOfDivisorTimesTp) {
  Case c = preset_case("tiny-linear");
  for (const auto& [tp, padded] : {std::pair{1, 96}, {2, 96}, {3, 96}, {4, 96}, {8, 128}}) {
    c.layout.tp = tp;
    EXPECT_EQ(padded_vocabulary(c.model, c.layout), padded) << "tp " << tp;
  }
}

TEST(DescribeModel, AnUnknownParameterIsAnError) {
  const Case c = preset_case("tiny-linear");
  const ParameterTable table = describe_model(c.model, c.layout);
  EXPECT_EQ(find_parameter(table, "output_layer.weight"),
            ParameterId{static_cast<int>(table.size()) - 1});
  EXPECT_THROW(find_parameter(table, "lm_head.weight"), InternalError);
}

}  // namespace
}  // namespace lockstep
