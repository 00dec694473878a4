// An oracle of made-up values and the flawless trial that it would take, for tests to damage.
#pragma once

#include <string_view>

#include "simulator/checks/check_result.h"
#include "simulator/checks/oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::test {

// Cut over tp by rows (padded), not cut, cut by rows, cut by columns.
inline constexpr std::string_view kEmbedding = "embedding.word_embeddings.weight";
inline constexpr std::string_view kNorm = "decoder.layers.0.mlp.linear_fc1.layer_norm_weight";
inline constexpr std::string_view kFc1 = "decoder.layers.0.mlp.linear_fc1.weight";
inline constexpr std::string_view kFc2 = "decoder.layers.0.mlp.linear_fc2.weight";

struct FakeTrial {
  sim::Oracle oracle;
  sim::TrialResult trial;

  Shard& gradient(int rank, std::size_t step, std::string_view name);
  Shard& parameter(int rank, std::size_t step, std::string_view name);
  StepResult& step(int rank, std::size_t step);
};

struct FakeLayout {
  std::int64_t tp = 1;
  std::int64_t dp = 1;
};

// tiny-linear's batch, 2 steps, 4 tensors.
FakeTrial make_trial(FakeLayout layout);

void scale(std::vector<double>& values, double factor);
std::vector<int> numbers_of(const std::vector<Rank>& ranks);

}  // namespace lockstep::test
