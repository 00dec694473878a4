// The parameter table of tiny-linear, golden.
#include "core/model/describe_model.h"

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "core/config/presets.h"

namespace lockstep {
namespace {

TEST(DescribeModel, GoldenTableOnFourTensorRanks) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = 4;
  c.model.num_hidden_layers = 1;
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
