// Dropout: what share it keeps, that its sites, samples and steps draw apart, and where it acts.
#include "matrix/reference/dropout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/base/random.h"
#include "core/config/data.h"
#include "matrix/reference/decoder.h"
#include "tests/matrix/reference/small_case.h"

namespace lockstep::test {
namespace {

using matrix::DropoutSite;

constexpr std::int64_t kDraws = 40000;
// Five standard deviations of a share of so many draws, at its largest.
constexpr double kTolerance = 5.0 * 0.5 / 200.0;

TEST(ReferenceDropout, KeepsItsShareAndTheMean) {
  for (const double probability : {0.1, 0.25, 0.75}) {
    const DropoutSite site({.probability = probability, .seed = 3}, "embedding");
    EXPECT_TRUE(site.drops());
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < kDraws; ++i) {
      const double factor = site.factor(i);
      if (factor == 0.0) continue;
      EXPECT_EQ(factor, 1.0 / (1.0 - probability));
      ++kept;
    }
    EXPECT_NEAR(static_cast<double>(kept) / kDraws, 1.0 - probability, kTolerance);
  }
}

TEST(ReferenceDropout, OfZeroLeavesAllAsItIs) {
  const DropoutSite site({.probability = 0.0, .seed = 3}, "embedding");
  EXPECT_FALSE(site.drops());
  matrix::Matrix x(2, 3);
  for (std::size_t i = 0; i < 6; ++i) x.values[i] = static_cast<double>(i) + 0.1;
  const matrix::Matrix before = x;
  site.drop(5, x);
  EXPECT_EQ(x.values, before.values);
}

// Of independent draws that keep with 1/2, both keep in a quarter.
TEST(ReferenceDropout, OfAnotherSiteOrSeedIsIndependent) {
  const DropoutSite site({.probability = 0.5, .seed = 3}, "decoder.layers.0.mlp.linear_fc2");
  const DropoutSite others[] = {
      DropoutSite({.probability = 0.5, .seed = 4}, "decoder.layers.0.mlp.linear_fc2"),
      DropoutSite({.probability = 0.5, .seed = 3}, "decoder.layers.1.mlp.linear_fc2"),
      DropoutSite({.probability = 0.5, .seed = 3}, "embedding")};
  for (const DropoutSite& other : others) {
    std::int64_t both = 0;
    for (std::int64_t i = 0; i < kDraws; ++i) {
      both += site.factor(i) > 0.0 && other.factor(i) > 0.0 ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(both) / kDraws, 0.25, kTolerance);
  }
}

double factor_at(const Case& c, const std::string& site, std::int64_t index) {
  const double draw = random_unit(static_cast<std::uint64_t>(c.recipe.seed),
                                  dropout_stream(site),
                                  static_cast<std::uint64_t>(index));
  return draw < c.recipe.dropout ? 0.0 : 1.0 / (1.0 - c.recipe.dropout);
}

// The traced activations of a step by name, token t of the whole batch in row t.
using Rows = std::map<std::string, std::vector<double>>;

Rows rows_of(const Case& c, std::int64_t step) {
  const matrix::BatchResult result =
      matrix::run_batch(c, matrix::make_batch(c, step), matrix::initial_parameters(c));
  Rows rows;
  for (const std::vector<sim::OracleTensor>& micro_batch : result.activations) {
    for (const sim::OracleTensor& activation : micro_batch) {
      const auto width = static_cast<std::size_t>(activation.shape[1]);
      for (std::int64_t t = 0; t < activation.shape[0]; ++t) {
        const std::int64_t sample = t / c.recipe.seq;
        const std::int64_t row = t % c.recipe.seq * c.recipe.micro_batch + sample;
        const auto first = static_cast<std::ptrdiff_t>(row) * activation.shape[1];
        std::vector<double>& all = rows[activation.name];
        all.insert(all.end(),
                   activation.values.begin() + first,
                   activation.values.begin() + first + static_cast<std::ptrdiff_t>(width));
      }
    }
  }
  return rows;
}

Case dropping_case() {
  Case c = small_dense_case();
  c.model.bias = true;
  c.recipe.dropout = 0.25;
  return c;
}

TEST(ReferenceDropout, OfTheEmbeddingGoesByTheTokensNumberAmongThoseOfAllSteps) {
  const Case c = dropping_case();
  const std::vector<double> table = matrix::initial_parameters(c).front().values;
  for (const std::int64_t step : {0, 1}) {
    const std::vector<double> embedded = rows_of(c, step).at("embedding");
    ASSERT_EQ(embedded.size(), 4U * 5U * 6U);
    for (std::int64_t t = 0; t < 20; ++t) {
      const std::int64_t input = token(c, step, t / 5, t % 5);
      for (std::int64_t j = 0; j < 6; ++j) {
        EXPECT_EQ(embedded[static_cast<std::size_t>(t * 6 + j)],
                  table[static_cast<std::size_t>(input * 6 + j)] *
                      factor_at(c, "embedding", (step * 20 + t) * 6 + j));
      }
    }
  }
}

// The residual stream is the traced embedding and every block's traced output after dropout.
TEST(ReferenceDropout, OfABlockActsBetweenItsTracedOutputAndTheResidual) {
  const Case c = dropping_case();
  const matrix::Tensors parameters = matrix::initial_parameters(c);
  const std::span<const double> weight =
      matrix::values_of(parameters, "decoder.final_layernorm.weight");
  const Rows rows = rows_of(c, 1);
  for (std::int64_t t = 0; t < 20; ++t) {
    std::vector<double> stream;
    double squares = 0.0;
    for (std::int64_t j = 0; j < 6; ++j) {
      const auto at = static_cast<std::size_t>(t * 6 + j);
      stream.push_back(rows.at("embedding")[at]);
      for (const std::string layer : {"decoder.layers.0.", "decoder.layers.1."}) {
        for (const std::string block : {"self_attention.linear_proj", "mlp.linear_fc2"}) {
          stream.back() +=
              rows.at(layer + block)[at] * factor_at(c, layer + block, (20 + t) * 6 + j);
        }
      }
      squares += stream.back() * stream.back();
    }
    const double root = std::sqrt(squares / 6.0 + c.model.norm_eps);
    for (std::size_t j = 0; j < 6; ++j) {
      EXPECT_NEAR(rows.at("decoder.final_layernorm")[static_cast<std::size_t>(t) * 6 + j],
                  stream[j] / root * weight[j],
                  1e-14);
    }
  }
}

TEST(ReferenceDropout, AndDocumentsAreTheSameWhateverTheMicroBatch) {
  Case everything = small_dense_case();
  take_everything(everything);
  for (Case c : {dropping_case(), everything}) {
    c.recipe.micro_batch = 1;
    const Rows alone = rows_of(c, 1);
    for (const std::int64_t micro_batch : {2, 4}) {
      c.recipe.micro_batch = micro_batch;
      for (const auto& [name, values] : rows_of(c, 1)) {
        ASSERT_EQ(values.size(), alone.at(name).size());
        for (std::size_t i = 0; i < values.size(); ++i) {
          EXPECT_NEAR(values[i], alone.at(name)[i], 1e-13) << name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::test
