// Runs the case again and appends what the comparison says.
#include "matrix/confirm/second_opinion.h"

#include <utility>

#include "matrix/confirm/agreement.h"
#include "simulator/runtime/trial.h"

namespace lockstep::matrix {

SecondOpinion held_against(TrialRunner simulated) {
  return [simulated = std::move(simulated)](const sim::TrialResult& trial, CaseResult& result) {
    const sim::TrialResult own = simulated.run(trial.c);
    result.simulated_digest = own.digest;
    result.checks.push_back(agreement(own, trial, agreement_bound(result.device)));
  };
}

}  // namespace lockstep::matrix
