// The probes, then the norms of every step as numbers.
#include "simulator/checks/norms.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "simulator/checks/dealing.h"
#include "simulator/checks/holdings.h"
#include "simulator/checks/probes.h"
#include "simulator/checks/scalars.h"

namespace lockstep::sim {
namespace {

struct NormKind {
  std::string_view name;
  double StepResult::*value = nullptr;
  double OracleStep::*reference = nullptr;
  double StepMeasures::*bound = nullptr;
};

constexpr NormKind kGradientNorm = {.name = "gradient norm",
                                    .value = &StepResult::gradient_norm,
                                    .reference = &OracleStep::gradient_norm,
                                    .bound = &StepMeasures::gradient_norm_bound};
constexpr NormKind kParameterNorm = {.name = "parameter norm",
                                     .value = &StepResult::parameter_norm,
                                     .reference = &OracleStep::parameter_norm,
                                     .bound = &StepMeasures::parameter_norm_bound};

class NormComparison {
 public:
  explicit NormComparison(const TrialResult& trial)
      : trial_(trial), sizes_(sizes_of(trial.c)), tally_("norms") {}

  Tally& tally() { return tally_; }
  CheckResult conclude() && { return std::move(tally_).conclude(); }

  void compare_with_oracle(std::size_t step, const NormKind& kind, const MeasuredOracle& oracle) {
    tally_.expect(world_size(trial_.c.layout));
    const Scalar scalar{.name = std::string(kind.name),
                        .step = step,
                        .reference = oracle.steps()[step].*kind.reference,
                        .bound = oracle.measures(step).*kind.bound};
    const std::int64_t targets = oracle.steps()[step].num_targets();
    compare_with_reference(scalar, values_of(step, kind), with_targets(sizes_, targets), tally_);
  }

  void compare_across(std::size_t step, const NormKind& kind) {
    tally_.expect(world_size(trial_.c.layout) - 1);
    compare_across_ranks(
        {.name = std::string(kind.name), .step = step}, values_of(step, kind), tally_);
  }

  // The norm of what ranks hold themselves: where it is right and the reported one is not, the
  // tensors are right and the plan of the norm is wrong, however little the precision lets show.
  void compare_with_own(std::size_t step,
                        const NormKind& kind,
                        TensorKind tensors,
                        const std::vector<OracleTensor>& names) {
    tally_.expect(world_size(trial_.c.layout));
    double squares = 0.0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::vector<RankShard> shards =
          shards_of(trial_, {.kind = tensors, .step = step, .index = i, .name = names[i].name});
      const Dealing& dealing = dealings_.of(i, shards);
      // Not compared, and so a failure.
      if (!dealing.problem.empty()) return;
      gather(dealing, shards, full_);
      for (const double value : full_) squares += value * value;
    }
    const Scalar scalar{.name = std::string(kind.name) + " of this run's own tensors",
                        .step = step,
                        .reference = std::sqrt(squares),
                        .bound = kBoundF64};
    compare_with_reference(scalar, values_of(step, kind), sizes_, tally_);
  }

 private:
  std::vector<RankValue> values_of(std::size_t step, const NormKind& kind) const {
    std::vector<RankValue> values;
    for (std::size_t rank = 0; rank < trial_.ranks.size(); ++rank) {
      const std::vector<StepResult>& steps = trial_.ranks[rank].steps;
      if (step >= steps.size()) continue;
      values.push_back({.ranks = {Rank{static_cast<int>(rank)}}, .value = steps[step].*kind.value});
    }
    return values;
  }

  const TrialResult& trial_;
  std::vector<NamedSize> sizes_;
  Tally tally_;
  Dealings dealings_;
  std::vector<double> full_;  // kept for its memory
};

}  // namespace

CheckResult check_norms(const TrialResult& trial, const MeasuredOracle& oracle) {
  if (trial.c.recipe.forward_only) return not_applicable("norms", kForwardOnlyReason);
  NormComparison comparison(trial);
  const std::string misfit = steps_misfit_of(trial, oracle);
  if (!misfit.empty()) comparison.tally().fail(misfit);
  // A plan that miscounts planted values miscounts real ones too.
  compare_probes(trial, oracle, comparison.tally());
  comparison.tally().end_stage();
  const Recipe& recipe = trial.c.recipe;
  const bool is_f64 = recipe.dtype == Precision::kF64;
  const TensorKind masters = has_masters(recipe) ? TensorKind::kMaster : TensorKind::kParameter;
  for (std::size_t step = 0; step < oracle.steps().size(); ++step) {
    const std::vector<OracleTensor>& names = oracle.steps()[step].parameters;
    comparison.compare_with_oracle(step, kGradientNorm, oracle);
    comparison.compare_across(step, kGradientNorm);
    if (is_f64) {
      comparison.compare_with_oracle(step, kParameterNorm, oracle);
    } else {
      // The reference starts each step from this run's masters and makes none of its own.
      comparison.compare_with_own(step, kGradientNorm, TensorKind::kGradient, names);
      comparison.compare_with_own(step, kParameterNorm, masters, names);
    }
    comparison.compare_across(step, kParameterNorm);
    comparison.tally().end_stage();
  }
  return std::move(comparison).conclude();
}

}  // namespace lockstep::sim
