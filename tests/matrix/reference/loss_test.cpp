// Cross entropy with and without label smoothing, by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "matrix/reference/vocabulary.h"

namespace lockstep::test {
namespace {

using matrix::Batch;
using matrix::cross_entropy;
using matrix::CrossEntropy;
using matrix::Matrix;

// Two tokens, the second one with a label: 2 of a vocabulary of 4, probabilities 1/8 1/8 1/2 1/4.
Matrix logits() {
  Matrix logits_TV(2, 4);
  for (std::int64_t v = 0; v < 4; ++v) {
    constexpr double kProbabilities[] = {0.125, 0.125, 0.5, 0.25};
    logits_TV.row(0)[v] = 7.0;
    logits_TV.row(1)[v] = 3.0 + std::log(kProbabilities[v]);
  }
  return logits_TV;
}

Batch batch() {
  Batch batch;
  batch.inputs_T = {0, 0};
  batch.labels_T = {1, 2};
  batch.is_target_T = {false, true};
  batch.tokens_a_micro_batch = 2;
  matrix::weigh_targets(LossNorm::kToken, batch);
  batch.weight_T[1] = 0.5;
  return batch;
}

TEST(ReferenceLoss, WithoutSmoothingIsTheLabelsNegativeLogProbability) {
  const CrossEntropy loss = cross_entropy(logits(), batch(), 0, 0.0);
  EXPECT_EQ(loss.losses_T[0], 0.0);
  EXPECT_NEAR(loss.losses_T[1], std::log(2.0), 1e-15);
  const double expected[] = {0.125, 0.125, 0.5 - 1.0, 0.25};
  for (std::int64_t v = 0; v < 4; ++v) {
    EXPECT_EQ(loss.dlogits_TV.row(0)[v], 0.0);
    EXPECT_NEAR(loss.dlogits_TV.row(1)[v], 0.5 * expected[v], 1e-15);
  }
}

TEST(ReferenceLoss, WithSmoothingSpreadsAShareOverTheWholeVocabulary) {
  // w = 0.3 * 4 / 3 = 0.4, of which each of the four has 0.1; -log p is 3 3 1 2 times log 2.
  const CrossEntropy loss = cross_entropy(logits(), batch(), 0, 0.3);
  EXPECT_EQ(loss.losses_T[0], 0.0);
  EXPECT_NEAR(loss.losses_T[1], (0.6 * 1.0 + 0.1 * 9.0) * std::log(2.0), 1e-15);
  const double expected[] = {0.025, 0.025, 0.5 - 0.7, 0.15};
  for (std::int64_t v = 0; v < 4; ++v) {
    EXPECT_EQ(loss.dlogits_TV.row(0)[v], 0.0);
    EXPECT_NEAR(loss.dlogits_TV.row(1)[v], 0.5 * expected[v], 1e-15);
  }
}

TEST(ReferenceLoss, TakesTheTokensFromTheGivenOneOn) {
  const Matrix both = logits();
  Matrix last(1, 4);
  std::copy(both.row(1), both.row(1) + 4, last.row(0));
  EXPECT_EQ(cross_entropy(last, batch(), 1, 0.3).losses_T[0],
            cross_entropy(both, batch(), 0, 0.3).losses_T[1]);
}

TEST(ReferenceBatch, WeighsGivenTargetsByEitherNorm) {
  Batch given;
  given.is_target_T = {true, false, true, true, false, false};
  given.tokens_a_micro_batch = 2;
  matrix::weigh_targets(LossNorm::kToken, given);
  EXPECT_EQ(given.targets_G, (std::vector<std::int64_t>{1, 2, 0}));
  constexpr double kThird = 1.0 / 3.0;
  EXPECT_EQ(given.weight_T, (std::vector<double>{kThird, 0.0, kThird, kThird, 0.0, 0.0}));
  matrix::weigh_targets(LossNorm::kMicroBatch, given);
  constexpr double kSixth = 1.0 / 6.0;
  EXPECT_EQ(given.weight_T, (std::vector<double>{kThird, 0.0, kSixth, kSixth, 0.0, 0.0}));
}

}  // namespace
}  // namespace lockstep::test
