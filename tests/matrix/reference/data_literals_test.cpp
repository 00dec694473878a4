// The data generator by literal values, from an implementation of its own in another language:
// core and reference share the generator, so that nothing else would see it change.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/config/data.h"
#include "core/config/presets.h"

namespace lockstep::test {
namespace {

TEST(DataLiterals, OfTokensAreThoseOfTheFirstRelease) {
  const Case c = preset_case("tiny-linear");
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> later;
  for (std::int64_t position = 0; position <= 8; ++position) {
    first.push_back(token(c, 0, 0, position));
    later.push_back(token(c, 1, 5, position));
  }
  EXPECT_EQ(first, (std::vector<std::int64_t>{82, 37, 47, 2, 79, 67, 45, 1, 34}));
  EXPECT_EQ(later, (std::vector<std::int64_t>{12, 65, 56, 82, 19, 32, 7, 25, 27}));
}

TEST(DataLiterals, OfWeightsAreThoseOfTheFirstRelease) {
  const auto weight = [](const char* name, std::int64_t index, std::int64_t fan_in) {
    return InitialValues(1, name, InitKind::kWeight, fan_in)[index];
  };
  EXPECT_EQ(weight("embedding.word_embeddings.weight", 0, 1), -0x1.ff2c5d4da3a80p-1);
  EXPECT_EQ(weight("embedding.word_embeddings.weight", 1, 1), -0x1.552e1fc78a7b8p-1);
  EXPECT_EQ(weight("embedding.word_embeddings.weight", 2879, 1), 0x1.b5439592d47ccp-1);
  EXPECT_EQ(weight("decoder.layers.0.mlp.linear_fc1.weight", 0, 32), 0x1.96d233be62a16p-3);
  EXPECT_EQ(weight("decoder.layers.0.mlp.linear_fc1.weight", 1535, 32), -0x1.866d4d7fc95e8p-4);
  EXPECT_EQ(weight("decoder.layers.1.mlp.linear_fc2.weight", 0, 48), 0x1.f8c4b460be248p-4);
  EXPECT_EQ(weight("decoder.layers.1.mlp.linear_fc2.weight", 1535, 48), 0x1.433498fd4e9f4p-3);
}

TEST(DataLiterals, OfNormWeightsAndBiasesAreThoseOfTheFirstRelease) {
  const auto norm = [](std::int64_t index) {
    return InitialValues(1, "decoder.final_layernorm.weight", InitKind::kNormWeight, 1)[index];
  };
  const auto bias = [](std::int64_t index) {
    return InitialValues(1, "decoder.layers.0.mlp.linear_fc1.bias", InitKind::kBias, 1)[index];
  };
  EXPECT_EQ(norm(0), 0x1.1ee53e437fc34p+0);
  EXPECT_EQ(norm(31), 0x1.122e132e1a388p+0);
  EXPECT_EQ(bias(0), 0x1.edc696c4a7528p-3);
  EXPECT_EQ(bias(1), -0x1.789a8a44e279ap-3);
}

// One text a sample, x where the label counts.
std::vector<std::string> drawn(Mask mask, std::int64_t step) {
  Case c = preset_case("tiny-linear");
  c.recipe.mask = mask;
  std::vector<std::string> texts;
  for (std::int64_t sample = 0; sample < 12; ++sample) {
    texts.emplace_back();
    for (std::int64_t position = 0; position < 8; ++position) {
      texts.back() += is_target(c, step, sample, position) ? 'x' : '.';
    }
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(DataLiterals, OfMaskFullAreAllTargetsAndOfNoneNone) {
  EXPECT_EQ(drawn(Mask::kFull, 0), Texts(12, "xxxxxxxx"));
  EXPECT_EQ(drawn(Mask::kNone, 0), Texts(12, "........"));
}

TEST(DataLiterals, OfMaskUnevenAreThoseOfTheFirstRelease) {
  EXPECT_EQ(drawn(Mask::kUneven, 0),
            (Texts{"x.x.xxx.",
                   ".xxxxxx.",
                   "xxx...xx",
                   "x..xx..x",
                   "xxxxx..x",
                   "....xx..",
                   "..x..xx.",
                   ".x..xx..",
                   "....x..x",
                   "..x.x.xx",
                   "xx.x.xxx",
                   "xxxxx.xx"}));
  EXPECT_EQ(drawn(Mask::kUneven, 1),
            (Texts{"x.x.....",
                   "...x...x",
                   "xxxxx..x",
                   "xxxxxxxx",
                   ".xxxx...",
                   "xxxxxxxx",
                   ".x..x...",
                   "xxxxxxxx",
                   "x.xx.x..",
                   "x......x",
                   "...x....",
                   "xxxxxxxx"}));
}

TEST(DataLiterals, OfMaskSingleAreOneTargetAStep) {
  Texts first(12, "........");
  first[4] = "......x.";
  EXPECT_EQ(drawn(Mask::kSingle, 0), first);
  Texts second(12, "........");
  second[11] = ".......x";
  EXPECT_EQ(drawn(Mask::kSingle, 1), second);
}

TEST(DataLiterals, OfMaskEmptyAreTargetsInSomeSamplesOnly) {
  Texts first(12, "........");
  for (const std::size_t sample : {1U, 4U, 7U, 10U}) first[sample] = "x.......";
  EXPECT_EQ(drawn(Mask::kEmpty, 0), first);
  Texts second(12, "........");
  for (const std::size_t sample : {2U, 5U, 8U, 11U}) second[sample] = "x.......";
  EXPECT_EQ(drawn(Mask::kEmpty, 1), second);
}

TEST(DataLiterals, OfMaskVaryingAreAnotherMasksForEachMicroBatch) {
  EXPECT_EQ(drawn(Mask::kVarying, 0),
            (Texts{"........",
                   "x.......",
                   "x.......",
                   "......x.",
                   "........",
                   ".....x..",
                   "........",
                   "x.......",
                   "x.......",
                   "x.......",
                   "xxxxxxxx",
                   ".....x.."}));
  EXPECT_EQ(drawn(Mask::kVarying, 1),
            (Texts{"x.x.....",
                   "x.......",
                   "xxxxx..x",
                   "x.......",
                   "xxxxxxxx",
                   "xxxxxxxx",
                   "......x.",
                   "xxxxxxxx",
                   "x.xx.x..",
                   "....x...",
                   "...x....",
                   ".......x"}));
}

}  // namespace
}  // namespace lockstep::test
