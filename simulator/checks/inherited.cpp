// Puts masters together and measures them as parameters are in f64.
#include "simulator/checks/inherited.h"

#include <algorithm>
#include <cmath>

#include "simulator/checks/dealing.h"
#include "simulator/checks/holdings.h"

namespace lockstep::sim {

double inherited_error(const TrialResult& trial, const MeasuredOracle& oracle, std::size_t step) {
  if (trial.c.recipe.dtype == Precision::kF64 || step == 0) return 0.0;
  const std::size_t before = step - 1;
  const TensorKind masters =
      has_masters(trial.c.recipe) ? TensorKind::kMaster : TensorKind::kParameter;
  const std::vector<OracleTensor>& references = oracle.steps()[before].parameters;
  double worst = 0.0;
  std::vector<double> deviations;
  for (std::size_t i = 0; i < references.size(); ++i) {
    const std::vector<double>& right = references[i].values;
    const std::vector<RankShard> shards =
        shards_of(trial, {.kind = masters, .step = before, .index = i, .name = references[i].name});
    const Dealing dealing = deal(shards);
    if (!dealing.problem.empty() || dealing.num_elements != right.size()) return 0.0;
    gather(dealing, shards, deviations);
    for (std::size_t j = 0; j < right.size(); ++j) {
      deviations[j] = std::abs(deviations[j] - right[j]);
    }
    // What is not finite raises no bound: it fails where it is compared.
    worst = std::max(worst, oracle.measures(before).parameters[i].largest_error(deviations));
  }
  return std::isfinite(worst) ? worst : 0.0;
}

}  // namespace lockstep::sim
