// Module by module in execution order, over all micro-batches: the first that differs ends the
// telling.
#include "simulator/checks/activations.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/comm/mesh.h"
#include "simulator/checks/tensors.h"

namespace lockstep::sim {
namespace {

struct Traced {
  Rank rank;
  const std::vector<Shard>* activations = nullptr;
};

// By micro-batch, what the ranks that compute it traced.
std::vector<std::vector<Traced>> traced_in(const TrialResult& trial,
                                           std::size_t step,
                                           std::size_t num_micro) {
  const Mesh mesh(trial.c.layout);
  const auto dp = static_cast<std::size_t>(trial.c.layout.dp);
  std::vector<std::vector<Traced>> by_micro_batch(num_micro);
  for (std::size_t i = 0; i < trial.ranks.size(); ++i) {
    const std::vector<StepResult>& steps = trial.ranks[i].steps;
    if (step >= steps.size()) continue;
    const Rank rank{static_cast<int>(i)};
    const auto first = static_cast<std::size_t>(mesh.coordinate(rank, Axis::kDp));
    for (std::size_t g = first; g < num_micro; g += dp) {
      const MicroBatchLoss* const own =
          find_micro_batch(steps[step], g / dp, static_cast<std::int64_t>(g));
      if (own == nullptr) continue;
      by_micro_batch[g].push_back({.rank = rank, .activations = &own->activations});
    }
  }
  return by_micro_batch;
}

class ActivationComparison {
 public:
  explicit ActivationComparison(const TrialResult& trial)
      : holders_(num_holders(trial.c) / trial.c.layout.dp),
        trial_(trial),
        comparison_(trial, "activations") {}

  Tally& tally() { return comparison_.tally(); }
  CheckResult conclude() && { return std::move(comparison_).conclude(); }

  void compare_step(std::size_t step, const MeasuredOracle& measured) {
    const OracleStep& oracle = measured.steps()[step];
    const StepMeasures& measures = measured.measures(step);
    const std::size_t num_micro = oracle.activations.size();
    const std::vector<std::vector<Traced>> traced = traced_in(trial_, step, num_micro);
    std::size_t num_modules = 0;
    for (std::size_t g = 0; g < num_micro; ++g) {
      num_modules = std::max(num_modules, oracle.activations[g].size());
      tally().expect(static_cast<std::int64_t>(oracle.activations[g].size()) * holders_);
      check_lists(step, g, traced[g], oracle.activations[g]);
    }
    for (std::size_t i = 0; i < num_modules; ++i) {
      for (std::size_t g = 0; g < num_micro; ++g) {
        if (i >= oracle.activations[g].size()) continue;
        const Yardstick against{.reference = oracle.activations[g][i],
                                .measure = measures.activations[g][i]};
        comparison_.compare(shards_of(traced[g], i, against.reference.name),
                            {.against = against,
                             .index = i + num_modules * (g % dp()),
                             .step = step,
                             .micro_batch = g});
      }
      tally().end_stage();
    }
  }

 private:
  void check_lists(std::size_t step,
                   std::size_t g,
                   const std::vector<Traced>& traced,
                   const std::vector<OracleTensor>& references) {
    if (references.empty()) tally().fail(fmt::format("the reference traced nothing of {}", g));
    for (const Traced& of_rank : traced) {
      const std::string problem = misfit_of_list(*of_rank.activations, references);
      if (problem.empty()) continue;
      tally().fail(
          at_step(fmt::format("rank {} {}, micro-batch {}", of_rank.rank.value, problem, g), step));
    }
  }

  const std::vector<RankShard>& shards_of(const std::vector<Traced>& traced,
                                          std::size_t index,
                                          std::string_view name) {
    shards_.clear();
    for (const Traced& of_rank : traced) {
      const Shard* const shard = find_shard(*of_rank.activations, index, name);
      if (shard != nullptr) shards_.push_back({.rank = of_rank.rank, .shard = shard});
    }
    return shards_;
  }

  std::size_t dp() const { return static_cast<std::size_t>(trial_.c.layout.dp); }

  std::int64_t holders_;
  const TrialResult& trial_;
  TensorComparison comparison_;
  std::vector<RankShard> shards_;  // kept for its memory
};

}  // namespace

CheckResult check_activations(const TrialResult& trial, const MeasuredOracle& oracle) {
  ActivationComparison comparison(trial);
  const std::string misfit = steps_misfit_of(trial, oracle);
  if (!misfit.empty()) comparison.tally().fail(misfit);
  for (std::size_t step = 0; step < oracle.steps().size(); ++step) {
    comparison.compare_step(step, oracle);
  }
  return std::move(comparison).conclude();
}

}  // namespace lockstep::sim
