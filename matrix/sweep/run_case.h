// Runs one case start to verdict in this process: rules, trial, reference, checks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/config/case.h"
#include "matrix/sweep/case_result.h"
#include "matrix/sweep/trial_runner.h"

namespace lockstep::matrix {

// Sees every trial once the checks have judged it, and adds to its result: a check that it appends
// counts towards the verdict.
using SecondOpinion = std::function<void(const sim::TrialResult& trial, CaseResult& result)>;

struct RunOptions {
  TrialRunner ranks = simulated_ranks(sim::RankHost::kFibers);
  std::vector<std::string> checks;    // names; empty: all that are built
  SecondOpinion second_opinion = {};  // may be empty
};

// Keeps the last references, so that cases with equal reference_key() pay for one.
class CaseRunner {
 public:
  explicit CaseRunner(RunOptions options);
  ~CaseRunner();

  // Never throws for what the case does: an illegal layout is kInvalid, one that these ranks cannot
  // run kSkipped, a rank's error kError.
  CaseResult run(const std::string& name, const Case& c);

  // Whether it can run no more cases in this process.
  bool is_spent() const { return options_.ranks.is_spent(); }

 private:
  struct Cache;

  void judge(const Case& c, CaseResult& result);

  RunOptions options_;
  std::unique_ptr<Cache> cache_;
};

}  // namespace lockstep::matrix
