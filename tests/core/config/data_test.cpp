// Weights, tokens and masks: properties that layouts rely on.
#include "core/config/data.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/config/presets.h"

namespace lockstep::test {
namespace {

std::int64_t num_targets(const Case& c, std::int64_t sample) {
  std::int64_t count = 0;
  for (std::int64_t p = 0; p < c.recipe.seq; ++p) count += is_target(c, 0, sample, p) ? 1 : 0;
  return count;
}

std::int64_t num_targets(const Case& c) {
  std::int64_t count = 0;
  for (std::int64_t s = 0; s < c.recipe.global_batch; ++s) count += num_targets(c, s);
  return count;
}

TEST(DataTest, TokensAreWithinTheVocabularyAndDifferByStep) {
  const Case c = preset_case("tiny-linear");
  bool differs = false;
  for (std::int64_t s = 0; s < c.recipe.global_batch; ++s) {
    for (std::int64_t p = 0; p <= c.recipe.seq; ++p) {
      EXPECT_GE(token(c, 0, s, p), 0);
      EXPECT_LT(token(c, 0, s, p), c.model.vocab_size);
      differs = differs || token(c, 0, s, p) != token(c, 1, s, p);
    }
  }
  EXPECT_TRUE(differs);
}

TEST(DataTest, NormWeightsAndBiasesNeverStartAtOneOrZero) {
  for (std::int64_t i = 0; i < 200; ++i) {
    EXPECT_GT(InitialValues(1, "norm", InitKind::kNormWeight, 1)[i], 1.0);
    EXPECT_GE(std::abs(InitialValues(1, "bias", InitKind::kBias, 1)[i]), 0.0625);
    EXPECT_LE(std::abs(InitialValues(1, "weight", InitKind::kWeight, 48)[i]), 0.25);
  }
}

// The literals were computed by a separate script from the formulas of random.h and data.h.
TEST(DataTest, WeightsHaveTheirPinnedBits) {
  const char* name = "decoder.layers.0.mlp.linear_fc1.weight";
  EXPECT_EQ(InitialValues(1, name, InitKind::kWeight, 32)[0], 0x1.96d233be62a16p-3);
  EXPECT_EQ(InitialValues(1, name, InitKind::kWeight, 32)[1], -0x1.48c8286cd7846p-3);
  EXPECT_EQ(InitialValues(1, name, InitKind::kWeight, 32)[1535], -0x1.866d4d7fc95e8p-4);
  EXPECT_EQ(InitialValues(1, "decoder.final_layernorm.weight", InitKind::kNormWeight, 1)[3],
            0x1.52c66a597dc40p+0);
}

TEST(DataTest, TokensAndMasksHaveTheirPinnedValues) {
  const Case c = preset_case("tiny-linear");
  EXPECT_EQ(token(c, 0, 0, 0), 82);
  EXPECT_EQ(token(c, 0, 0, 1), 37);
  EXPECT_EQ(token(c, 0, 11, 8), 17);
  EXPECT_EQ(token(c, 1, 0, 0), 51);
  std::string sample_2;
  std::string step_1_sample_1;
  for (std::int64_t p = 0; p < 8; ++p) {
    sample_2 += is_target(c, 0, 2, p) ? '1' : '0';
    step_1_sample_1 += is_target(c, 1, 1, p) ? '1' : '0';
  }
  EXPECT_EQ(sample_2, "11100011");
  EXPECT_EQ(step_1_sample_1, "00010001");
}

TEST(DataTest, MasksHaveTheTargetsThatTheirNamesSay) {
  Case c = preset_case("tiny-linear");
  c.recipe.mask = Mask::kFull;
  EXPECT_EQ(num_targets(c), c.recipe.global_batch * c.recipe.seq);
  c.recipe.mask = Mask::kNone;
  EXPECT_EQ(num_targets(c), 0);
  c.recipe.mask = Mask::kUneven;
  EXPECT_GT(num_targets(c), 0);
  EXPECT_LT(num_targets(c), c.recipe.global_batch * c.recipe.seq);
}

TEST(DataTest, ASingleTargetLiesInTheSecondHalfOfItsSequence) {
  Case c = preset_case("tiny-linear");
  c.recipe.mask = Mask::kSingle;
  for (std::int64_t seed = 0; seed < 50; ++seed) {
    c.recipe.seed = seed;
    EXPECT_EQ(num_targets(c), 1);
    for (std::int64_t s = 0; s < c.recipe.global_batch; ++s) {
      for (std::int64_t p = 0; p < c.recipe.seq / 2; ++p) EXPECT_FALSE(is_target(c, 0, s, p));
    }
  }
}

TEST(DataTest, AnEmptyMaskLeavesWholeSamplesWithoutTargets) {
  Case c = preset_case("tiny-linear");
  c.recipe.mask = Mask::kEmpty;
  std::int64_t without = 0;
  for (std::int64_t s = 0; s < c.recipe.global_batch; ++s) {
    without += num_targets(c, s) == 0 ? 1 : 0;
    for (std::int64_t p = 1; p < c.recipe.seq; ++p) EXPECT_FALSE(is_target(c, 0, s, p));
  }
  EXPECT_EQ(without, 8);
  EXPECT_EQ(num_targets(c), 4);
}

TEST(DocumentsTest, WithoutPackingASampleIsOneDocument) {
  EXPECT_EQ(document_starts(preset_case("tiny-dense"), 1, 3), std::vector<std::int64_t>{0});
}

TEST(DocumentsTest, PackedDocumentsCoverTheSampleAndDifferInLength) {
  Case c = preset_case("tiny-dense");
  c.recipe.packing = true;
  std::set<std::int64_t> lengths;
  for (std::int64_t sample = 0; sample < c.recipe.global_batch; ++sample) {
    std::vector<std::int64_t> borders = document_starts(c, 0, sample);
    ASSERT_EQ(borders.front(), 0);
    ASSERT_LT(borders.back(), c.recipe.seq);
    EXPECT_GE(borders.size(), 3U) << "of at most 12 of 32 tokens";
    borders.push_back(c.recipe.seq);
    for (std::size_t i = 1; i < borders.size(); ++i) {
      const std::int64_t length = borders[i] - borders[i - 1];
      const bool is_last = i + 1 == borders.size();
      EXPECT_GE(length, is_last ? 1 : 3);
      EXPECT_LE(length, 12);
      lengths.insert(length);
    }
  }
  EXPECT_GE(lengths.size(), 5U);
}

TEST(DocumentsTest, TheDrawIsPinnedByLiteralValues) {
  Case c = preset_case("tiny-dense");
  c.recipe.packing = true;
  EXPECT_EQ(document_starts(c, 0, 0), (std::vector<std::int64_t>{0, 5, 13, 25, 31}));
  EXPECT_EQ(document_starts(c, 1, 7), (std::vector<std::int64_t>{0, 9, 19, 29}));
}

TEST(DocumentsTest, ASampleTooShortForThreeTokensIsOneDocument) {
  Case c = preset_case("tiny-dense");
  c.recipe.packing = true;
  c.recipe.seq = 2;
  EXPECT_EQ(document_starts(c, 0, 0), std::vector<std::int64_t>{0});
}

TEST(DropoutTest, EachSiteHasItsOwnStream) {
  EXPECT_EQ(dropout_stream("embedding"), stream_of("dropout.embedding"));
  EXPECT_NE(dropout_stream("embedding"), dropout_stream("decoder.layers.0.mlp.linear_fc2"));
}

TEST(DropoutTest, TokensOfAllStepsFollowOneAnother) {
  const Case c = preset_case("tiny-dense");
  EXPECT_EQ(first_token_of(c, 0, 0), 0);
  EXPECT_EQ(first_token_of(c, 1, 2), (12 + 2) * 32);
}

}  // namespace
}  // namespace lockstep::test
