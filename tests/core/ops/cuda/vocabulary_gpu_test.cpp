// Embedding and cross entropy on shards, on CUDA against the CPU. Rows are copied or summed in the
// order of the tokens: the CPU's bits. Sums over a row of logits have another order, and exp and
// log are each device's own.
#include <cmath>
#include <limits>

#include "core/ops/vocabulary.h"
#include "tests/core/ops/cuda/twin_parts.h"

namespace lockstep {
namespace {

using test::Both;
using test::kRealTypes;
using test::OpSide;
using test::Twin;
using test::type_name;
using test::ulps_of_sum;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class VocabularyTest : public test::GpuOpTest {
 protected:
  // Random ids or labels below `vocabulary`.
  Twin random_ids(std::int64_t tokens, std::int64_t vocabulary) {
    std::vector<std::int64_t> ids;
    for (const double number : draw(tokens)) {  // in [-1, 1)
      ids.push_back(
          static_cast<std::int64_t>((number + 1.0) / 2.0 * static_cast<double>(vocabulary)));
    }
    return integers(ids);
  }
};

struct EmbeddingSetting {
  std::int64_t tokens;
  std::int64_t vocabulary;
  std::int64_t rows;  // of the shard
  std::int64_t first_row;
  std::int64_t width;
};
// Shards in the middle and beyond the vocabulary; more tokens than a block looks at, often of one
// id; more columns than a block sums.
constexpr EmbeddingSetting kEmbeddings[] = {{1, 1, 1, 0, 1},
                                            {7, 12, 5, 4, 33},
                                            {130, 50, 50, 0, 90},
                                            {1000, 3, 2, 1, 40},
                                            {700, 9, 4, 3, 4097},
                                            {40, 20, 8, 100, 16},
                                            {3, 5000, 4099, 700, 8}};

std::string name_of(const EmbeddingSetting& at) {
  return std::to_string(at.tokens) + " tokens, rows " + std::to_string(at.first_row) + " and " +
         std::to_string(at.rows) + " on of " + std::to_string(at.vocabulary) + ", width " +
         std::to_string(at.width);
}

VocabularyShard shard_of(const EmbeddingSetting& at) {
  return {.first_row = at.first_row, .num_real = at.rows};
}

class CudaEmbedding : public VocabularyTest {};

TEST_P(CudaEmbedding, HasTheCpusBits) {
  for (const EmbeddingSetting& at : kEmbeddings) {
    const Twin ids = random_ids(at.tokens, at.vocabulary);
    const Twin weight = random({at.rows, at.width});
    EXPECT_TRUE(same_bits(on_both([&](const OpSide& on) {
      return embedding(on.ops, on.of(ids), on.of(weight), shard_of(at));
    }))) << name_of(at);
  }
}

TEST_P(CudaEmbedding, GradientHasTheCpusBits) {
  for (const EmbeddingSetting& at : kEmbeddings) {
    const Twin ids = random_ids(at.tokens, at.vocabulary);
    const Twin dout = random({at.tokens, at.width});
    EXPECT_TRUE(same_bits(on_both([&](const OpSide& on) {
      return embedding_backward(
          on.ops,
          {.ids = on.of(ids), .weight_shape = {at.rows, at.width}, .shard = shard_of(at)},
          on.of(dout));
    }))) << name_of(at);
  }
}

TEST_P(CudaEmbedding, IdsOfOtherShardsGiveZeroRowsAndTakePartInNoGradient) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  const Tensor ids = integers({0, kLargest, 2, 1, 7, 4}).gpu;
  const Twin weight = reals({1, 2, 3, 4, 5, 6}, {3, 2});
  const VocabularyShard shard{.first_row = 2, .num_real = 3};
  EXPECT_EQ(read_gpu(embedding(gpu(), ids, weight.gpu, shard)),
            (std::vector<double>{0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 5, 6}));
  const EmbeddingSaved saved{.ids = ids, .weight_shape = {3, 2}, .shard = shard};
  const Twin dout = reals({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {6, 2});
  EXPECT_EQ(read_gpu(embedding_backward(gpu(), saved, dout.gpu)),
            (std::vector<double>{5, 6, 0, 0, 11, 12}));
}

// The CPU throws; a kernel cannot.
TEST_P(CudaEmbedding, NegativeIdsAndThoseThatNobodyWroteGiveRowsOfNaN) {
  const Tensor unwritten = allocate_tensor(device(), DType::kI64, {300}, "test.ids");
  const Twin weight = random({5, 4});
  for (const Tensor& ids : {unwritten, integers({-1}).gpu}) {
    for (const double value :
         read_gpu(embedding(gpu(), ids, weight.gpu, {.first_row = 0, .num_real = 5}))) {
      ASSERT_TRUE(std::isnan(value));
    }
  }
}

TEST_P(CudaEmbedding, NoTokensGiveAGradientOfZeros) {
  const EmbeddingSaved saved{
      .ids = integers({}).gpu, .weight_shape = {5, 900}, .shard = {.first_row = 0, .num_real = 5}};
  EXPECT_EQ(read_gpu(embedding_backward(gpu(), saved, random({0, 900}).gpu)),
            std::vector<double>(4500, 0.0));
}

INSTANTIATE_TEST_SUITE_P(, CudaEmbedding, kRealTypes, type_name);

struct LogitsSetting {
  std::int64_t tokens;
  std::int64_t columns;  // of the shard
  VocabularyShard shard;
  std::int64_t vocabulary;
};
// Without padding, with it, of nothing else; labels of this shard and of others.
constexpr LogitsSetting kLogits[] = {
    {1, 1, {.first_row = 0, .num_real = 1}, 1},
    {7, 33, {.first_row = 0, .num_real = 33}, 33},
    {130, 90, {.first_row = 90, .num_real = 90}, 360},
    {130, 90, {.first_row = 270, .num_real = 57}, 327},
    {7, 4097, {.first_row = 4097, .num_real = 4001}, 8098},
    {130, 4097, {.first_row = 0, .num_real = 4097}, 4097},
    {7, 90, {.first_row = 360, .num_real = 0}, 300},
};

std::string name_of(const LogitsSetting& at) {
  return std::to_string(at.tokens) + " tokens, " + std::to_string(at.columns) + " columns, " +
         std::to_string(at.shard.num_real) + " of them real from " +
         std::to_string(at.shard.first_row);
}

class CudaLogits : public VocabularyTest {
 protected:
  // Logits in [-4, 4), wide enough for exp to differ.
  Both<ShardLogits> random_logits(const LogitsSetting& at) {
    std::vector<double> numbers = draw(at.tokens * at.columns);
    for (double& number : numbers) number *= 4.0;
    const Twin logits = reals(numbers, {at.tokens, at.columns});
    const Twin labels = random_ids(at.tokens, at.vocabulary);
    return on_both([&](const OpSide& on) {
      return ShardLogits{.logits = on.of(logits), .labels = on.of(labels), .shard = at.shard};
    });
  }
  // As if of all shards: no smaller than this one's, and numbers that logits can be in bf16 too,
  // where one with more bits would turn the rounding of each difference the same way.
  Twin random_maxima(std::int64_t tokens) {
    std::vector<double> numbers = draw(tokens);
    for (double& number : numbers) number = 5.0 + std::round(number * 16.0) / 16.0;
    return reals(cpu().main_dtype(), numbers, {tokens});
  }
  // As if summed over all shards: 1 and more.
  Twin random_stats(std::int64_t tokens) {
    std::vector<double> numbers = draw(3 * tokens);
    for (double& number : numbers) number += 2.5;
    return reals(cpu().main_dtype(), numbers, {3, tokens});
  }
};

constexpr LabelSmoothing kSmoothings[] = {{}, {.weight = 0.3, .vocabulary = 327}};

TEST_P(CudaLogits, MaximaHaveTheCpusBits) {
  for (const LogitsSetting& at : kLogits) {
    const Both<ShardLogits> logits = random_logits(at);
    EXPECT_TRUE(same_bits(on_both([&](const OpSide& on) {
      return logits_max(on.ops, on.of(logits));
    }))) << name_of(at);
  }
}

TEST_P(CudaLogits, AShardOfNothingButPaddingHasMaximumMinusInfinity) {
  const Both<ShardLogits> logits = random_logits(kLogits[6]);
  EXPECT_EQ(read_gpu(logits_max(gpu(), logits.gpu)), std::vector<double>(7, -kInfinity));
}

TEST_P(CudaLogits, ANaNIsTheMaximumWhereverItIsAndNoneIsInThePadding) {
  constexpr std::int64_t kColumns = 600;
  constexpr std::int64_t kReal = 590;
  for (const std::int64_t place : {0, 1, 31, 32, 255, 256, 500, 589, 590, 599}) {
    std::vector<double> numbers = draw(kColumns);
    numbers[static_cast<std::size_t>(place)] = std::nan("");
    const ShardLogits logits{.logits = reals(numbers, {1, kColumns}).gpu,
                             .labels = integers({0}).gpu,
                             .shard = {.first_row = 0, .num_real = kReal}};
    EXPECT_EQ(std::isnan(read_gpu(logits_max(gpu(), logits))[0]), place < kReal) << place;
  }
}

TEST_P(CudaLogits, StatsAreTheCpus) {
  for (const LogitsSetting& at : kLogits) {
    const Both<ShardLogits> logits = random_logits(at);
    const Twin max_T = random_maxima(at.tokens);
    const Twin stats = on_both(
        [&](const OpSide& on) { return logits_stats(on.ops, on.of(logits), on.of(max_T)); });
    const auto row = [&](std::int64_t index) {
      return Twin{.cpu = stats.cpu.rows(index, 1), .gpu = stats.gpu.rows(index, 1)};
    };
    EXPECT_TRUE(same_bits(row(0))) << name_of(at);
    EXPECT_TRUE(close(row(1), ulps_of_sum(at.columns))) << name_of(at);
    EXPECT_TRUE(close(row(2), ulps_of_sum(at.columns))) << name_of(at);
  }
}

TEST_P(CudaLogits, LabelsOfOtherShardsHaveNoLogitAndNegativeOnesNaN) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  const ShardLogits logits{.logits = random({5, 8}).gpu,
                           .labels = integers({1, kLargest, 0, -1, 10}).gpu,
                           .shard = {.first_row = 2, .num_real = 8}};
  const std::vector<double> stats = read_gpu(logits_stats(gpu(), logits, random_maxima(5).gpu));
  for (const std::size_t other : {0U, 1U, 2U, 4U}) EXPECT_EQ(stats[other], 0.0) << other;
  EXPECT_TRUE(std::isnan(stats[3]));
}

TEST_P(CudaLogits, TokenLossIsTheCpus) {
  for (const std::int64_t tokens : {1, 7, 130, 70001}) {
    for (const LabelSmoothing& smoothing : kSmoothings) {
      const Twin stats = random_stats(tokens);
      EXPECT_TRUE(close(
          on_both([&](const OpSide& on) { return token_loss(on.ops, on.of(stats), smoothing); }),
          4))
          << tokens << " tokens, smoothing " << smoothing.weight;
    }
  }
}

TEST_P(CudaLogits, GradientIsTheCpusAndZeroInThePadding) {
  for (const LogitsSetting& at : kLogits) {
    for (const LabelSmoothing& smoothing : kSmoothings) {
      const Both<ShardLogits> logits = random_logits(at);
      const Twin max_T = random_maxima(at.tokens);
      const Twin stats = random_stats(at.tokens);
      const Twin dloss = random_main({at.tokens});
      const Twin gradient = on_both([&](const OpSide& on) {
        return logits_backward(
            on.ops,
            {.logits = on.of(logits), .max_T = on.of(max_T), .stats_3T = on.of(stats)},
            smoothing,
            on.of(dloss));
      });
      EXPECT_TRUE(close(gradient, 4)) << name_of(at) << ", smoothing " << smoothing.weight;
      const std::vector<double> values = read_gpu(gradient.gpu);
      std::size_t num_wrong = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto column = static_cast<std::int64_t>(i) % at.columns;
        if (column >= at.shard.num_real && values[i] != 0.0) ++num_wrong;
      }
      EXPECT_EQ(num_wrong, 0U) << name_of(at);
    }
  }
}

TEST_P(CudaLogits, GivesTheSameBitsTwice) {
  const Both<ShardLogits> logits = random_logits(kLogits[5]);
  const Twin max_T = random_maxima(130);
  const auto once = [&] { return read_gpu(logits_stats(gpu(), logits.gpu, max_T.gpu)); };
  EXPECT_TRUE(test::same_bits(once(), once()));
}

INSTANTIATE_TEST_SUITE_P(, CudaLogits, kRealTypes, type_name);

}  // namespace
}  // namespace lockstep
