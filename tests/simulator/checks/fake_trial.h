// An oracle of made-up values and the flawless trial that it would take, for tests to damage.
#pragma once

#include <functional>
#include <string_view>

#include "simulator/checks/check_result.h"
#include "simulator/checks/measured_oracle.h"
#include "simulator/checks/oracle.h"
#include "simulator/runtime/trial.h"

namespace lockstep::test {

// Cut over tp by rows (padded), not cut, cut by rows, cut by columns.
inline constexpr std::string_view kEmbedding = "embedding.word_embeddings.weight";
inline constexpr std::string_view kNorm = "decoder.layers.0.mlp.linear_fc1.layer_norm_weight";
inline constexpr std::string_view kFc1 = "decoder.layers.0.mlp.linear_fc1.weight";
inline constexpr std::string_view kFc2 = "decoder.layers.0.mlp.linear_fc2.weight";

// Traced, in this order: whole, or cut over tp by tokens under sp; cut by width; as the first; cut
// by width (padded). All are cut over cp by tokens.
inline constexpr std::string_view kEmbedded = "embedding";
inline constexpr std::string_view kActivated = "decoder.layers.0.mlp.activation_func";
inline constexpr std::string_view kFc2Out = "decoder.layers.0.mlp.linear_fc2";
inline constexpr std::string_view kLogits = "output_layer";

struct FakeTrial {
  sim::Oracle oracle;
  sim::TrialResult trial;

  StepResult& step(int rank, std::size_t step);
  // Of every rank, which is how a layout-wide fault shows.
  void on_all_ranks(std::size_t step, const std::function<void(StepResult&)>& damage);
  Shard& gradient(int rank, std::size_t step, std::string_view name);
  Shard& parameter(int rank, std::size_t step, std::string_view name);
  // `position`: among the rank's own micro-batches.
  Shard& activation(int rank, std::size_t step, std::size_t position, std::string_view name);
  sim::MeasuredOracle measured() const { return sim::MeasuredOracle(oracle); }
};

Shard& named(std::vector<Shard>& shards, std::string_view name);
ProbeResult& probe(RankResult& rank, std::string_view label);

struct FakeLayout {
  std::int64_t tp = 1;
  std::int64_t dp = 1;
  std::int64_t cp = 1;
};

struct FakeRecipe {
  Precision dtype = Precision::kF64;
  Optimizer optimizer = Optimizer::kSgd;
  double lr = 0.1;
  double weight_decay = 0.0;
  double clip = 0.0;
  bool sp = false;
  bool forward_only = false;
};

// tiny-linear's batch, 2 steps, 4 tensors, 4 activations; parameters by the optimizer's arithmetic.
// Below f64 the trial and the single-device run both have the oracle's values rounded.
FakeTrial make_trial(FakeLayout layout, const FakeRecipe& recipe = {});

// AdamW with clipping that bites: every kind of tensor but masters; bf16 has those too.
FakeRecipe adamw_recipe(Precision dtype = Precision::kF64);

void scale(std::vector<double>& values, double factor);

// Numbers of the ranks, for gtest to print.
std::vector<int> numbers_of(const std::vector<Rank>& ranks);

}  // namespace lockstep::test
