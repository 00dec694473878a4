// Packing and sliding windows: a document is a sample of its own, and a token reaches exactly the
// rows that may see it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/errors.h"
#include "core/config/data.h"
#include "matrix/reference/decoder.h"
#include "tests/matrix/reference/small_case.h"

namespace lockstep::test {
namespace {

using matrix::Batch;
using matrix::BatchResult;
using matrix::Tensors;

std::vector<std::int64_t> lengths_of(const Case& c, std::int64_t sample) {
  std::vector<std::int64_t> starts = document_starts(c, 0, sample);
  starts.push_back(c.recipe.seq);
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) lengths.push_back(starts[i + 1] - starts[i]);
  return lengths;
}

template <typename T>
std::vector<T> slice(const std::vector<T>& values, std::int64_t first, std::int64_t count) {
  return {values.begin() + first, values.begin() + first + count};
}

// Tokens of a batch as a batch of one sample, weighed as they were.
Batch part_of(const Batch& batch, std::int64_t first, std::int64_t count) {
  Batch part{.inputs_T = slice(batch.inputs_T, first, count),
             .labels_T = slice(batch.labels_T, first, count),
             .is_target_T = slice(batch.is_target_T, first, count),
             .weight_T = slice(batch.weight_T, first, count),
             .targets_G = {},
             .tokens_a_micro_batch = count,
             .places_T = {}};
  part.targets_G = {std::count(part.is_target_T.begin(), part.is_target_T.end(), true)};
  return part;
}

double loss_sum(const BatchResult& result, const std::vector<std::int64_t>& targets_G) {
  double sum = 0.0;
  for (std::size_t g = 0; g < targets_G.size(); ++g) {
    sum += result.micro_batch_losses[g] * static_cast<double>(targets_G[g]);
  }
  return sum;
}

void expect_sum(const Tensors& gradients, const Tensors& sums) {
  ASSERT_EQ(gradients.size(), sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    for (std::size_t j = 0; j < sums[i].values.size(); ++j) {
      ASSERT_NEAR(gradients[i].values[j], sums[i].values[j], 1e-14) << gradients[i].name;
    }
  }
}

// Row `row` of each activation of a document is row first + row of the sample's.
void expect_rows(const std::vector<sim::OracleTensor>& sample,
                 const std::vector<sim::OracleTensor>& document,
                 std::int64_t first) {
  ASSERT_EQ(sample.size(), document.size());
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const std::int64_t offset = first * sample[i].shape[1];
    for (std::size_t j = 0; j < document[i].values.size(); ++j) {
      ASSERT_NEAR(
          sample[i].values[static_cast<std::size_t>(offset) + j], document[i].values[j], 1e-14)
          << sample[i].name;
    }
  }
}

void expect_documents_alone(const Case& c) {
  const Tensors parameters = matrix::initial_parameters(c);
  const Batch batch = matrix::make_batch(c, 0);
  const BatchResult packed = matrix::run_batch(c, batch, parameters);
  Tensors sums = matrix::zeros_like(parameters);
  double objective = 0.0;
  double losses = 0.0;
  std::int64_t first = 0;
  for (std::int64_t sample = 0; sample < c.recipe.global_batch; ++sample) {
    ASSERT_GT(lengths_of(c, sample).size(), 1U);
    for (const std::int64_t length : lengths_of(c, sample)) {
      Case alone = c;
      alone.recipe.packing = false;
      alone.recipe.seq = length;
      const Batch part = part_of(batch, first, length);
      const BatchResult document = matrix::run_batch(alone, part, parameters);
      objective += document.objective;
      losses += loss_sum(document, part.targets_G);
      expect_rows(packed.activations[static_cast<std::size_t>(sample)],
                  document.activations[0],
                  first - sample * c.recipe.seq);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        for (std::size_t j = 0; j < sums[i].values.size(); ++j) {
          sums[i].values[j] += document.gradients[i].values[j];
        }
      }
      first += length;
    }
  }
  EXPECT_NEAR(packed.objective, objective, 1e-14);
  EXPECT_NEAR(loss_sum(packed, batch.targets_G), losses, 1e-13);
  expect_sum(packed.gradients, sums);
}

TEST(ReferenceDocuments, OfAPackedSampleAreSamplesOfTheirOwn) {
  Case c = small_dense_case();
  pack(c);
  expect_documents_alone(c);
}

TEST(ReferenceDocuments, AreSamplesOfTheirOwnWithAWindowAndASinkToo) {
  Case c = small_dense_case();
  take_everything(c);
  c.recipe.dropout = 0.0;
  expect_documents_alone(c);
}

TEST(ReferenceDocuments, LeaveTokensLabelsAndTargetsToTheSample) {
  Case c = small_dense_case();
  pack(c);
  const Batch packed = matrix::make_batch(c, 1);
  c.recipe.packing = false;
  const Batch whole = matrix::make_batch(c, 1);
  EXPECT_EQ(packed.inputs_T, whole.inputs_T);
  EXPECT_EQ(packed.labels_T, whole.labels_T);
  EXPECT_EQ(packed.is_target_T, whole.is_target_T);
  EXPECT_EQ(packed.weight_T, whole.weight_T);
  EXPECT_NE(packed.places_T, whole.places_T);
}

TEST(ReferenceDocuments, OfABatchThatSaysNothingAreItsSamples) {
  const Case c = small_dense_case();
  const Tensors parameters = matrix::initial_parameters(c);
  Batch batch = matrix::make_batch(c, 0);
  const double drawn = matrix::run_batch(c, batch, parameters).objective;
  batch.places_T.clear();
  EXPECT_EQ(matrix::run_batch(c, batch, parameters).objective, drawn);
}

TEST(ReferenceDocuments, AreRefusedWhereTheirTokensDoNotCountFromZeroWithinASample) {
  const Case c = small_dense_case();
  const Tensors parameters = matrix::initial_parameters(c);
  const auto run_with = [&](std::size_t token, std::int64_t place) {
    Batch batch = matrix::make_batch(c, 0);
    batch.places_T.at(token) = place;
    return matrix::run_batch(c, batch, parameters).objective;
  };
  EXPECT_NO_THROW(run_with(4, 0));
  EXPECT_THROW(run_with(4, 3), InternalError);   // a place twice
  EXPECT_THROW(run_with(5, 5), InternalError);   // on into the next sample
  EXPECT_THROW(run_with(4, -1), InternalError);  // before the document
  Batch batch = matrix::make_batch(c, 0);
  batch.places_T.pop_back();
  EXPECT_THROW(matrix::run_batch(c, batch, parameters), InternalError);
}

using Rows = std::set<std::int64_t>;

// Rows of the logits, over all micro-batches of one sample each, that another input token changes.
Rows rows_changed_by(const Case& c, std::int64_t token) {
  const Tensors parameters = matrix::initial_parameters(c);
  Batch batch = matrix::make_batch(c, 0);
  const BatchResult before = matrix::run_batch(c, batch, parameters);
  std::int64_t& input = batch.inputs_T.at(static_cast<std::size_t>(token));
  input = (input + 1) % c.model.vocab_size;
  const BatchResult after = matrix::run_batch(c, batch, parameters);
  Rows rows;
  for (std::size_t sample = 0; sample < before.activations.size(); ++sample) {
    const std::vector<double>& old = before.activations[sample].back().values;
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (after.activations[sample].back().values[i] == old[i]) continue;
      rows.insert(static_cast<std::int64_t>(sample) * c.recipe.seq +
                  static_cast<std::int64_t>(i) / c.model.vocab_size);
    }
  }
  return rows;
}

// A layer carries a token as far as its window reaches.
Rows rows_within_reach(const Case& c, std::int64_t token) {
  const std::int64_t window = c.model.sliding_window;
  const std::int64_t reach = window > 0 ? c.model.num_hidden_layers * (window - 1) : c.recipe.seq;
  Rows rows;
  std::int64_t first = 0;
  for (std::int64_t sample = 0; sample < c.recipe.global_batch; ++sample) {
    for (const std::int64_t length : lengths_of(c, sample)) {
      const bool own = token >= first && token < first + length;
      for (std::int64_t t = token; own && t < first + length && t - token <= reach; ++t) {
        rows.insert(t);
      }
      first += length;
    }
  }
  return rows;
}

TEST(ReferenceDocuments, AndWindowsLetATokenReachExactlyTheRowsThatMaySeeIt) {
  for (const bool packing : {false, true}) {
    for (const std::int64_t window : {0, 1, 2, 3, 18}) {
      Case c = small_dense_case();
      pack(c);
      c.recipe.packing = packing;
      c.recipe.global_batch = 2;
      c.model.sliding_window = window;
      c.model.attention_sink = window == 2;
      ASSERT_EQ(c.model.num_hidden_layers, 2);
      for (std::int64_t token = 0; token < 2 * c.recipe.seq; ++token) {
        EXPECT_EQ(rows_changed_by(c, token), rows_within_reach(c, token))
            << "packing " << packing << " window " << window << " token " << token;
      }
    }
  }
}

void expect_same(const BatchResult& a, const BatchResult& b) {
  EXPECT_EQ(a.objective, b.objective);
  for (std::size_t i = 0; i < a.gradients.size(); ++i) {
    EXPECT_EQ(a.gradients[i].values, b.gradients[i].values) << a.gradients[i].name;
  }
}

TEST(ReferenceWindow, OfTheWholeSequenceOrMoreIsNoWindow) {
  Case c = small_dense_case();
  const Batch batch = matrix::make_batch(c, 0);
  const Tensors parameters = matrix::initial_parameters(c);
  const BatchResult none = matrix::run_batch(c, batch, parameters);
  for (const std::int64_t window : {5, 6, 1000}) {
    c.model.sliding_window = window;
    expect_same(matrix::run_batch(c, batch, parameters), none);
  }
  c.model.sliding_window = 4;
  EXPECT_NE(matrix::run_batch(c, batch, parameters).objective, none.objective);
}

}  // namespace
}  // namespace lockstep::test
