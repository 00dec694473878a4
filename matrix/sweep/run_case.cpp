// A case from start to verdict.
#include "matrix/sweep/run_case.h"

#include <chrono>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "core/base/errors.h"
#include "core/config/case_json.h"
#include "core/config/rules.h"
#include "matrix/reference/reference.h"
#include "matrix/sweep/single_device.h"
#include "simulator/checks/checks.h"
#include "simulator/runtime/trial.h"

namespace lockstep::matrix {

// The last references by key. A sweep deals cases of one key in a row, so a few suffice.
struct CaseRunner::Cache {
  static constexpr std::size_t kKept = 8;
  std::deque<std::pair<std::string, sim::MeasuredOracle>> references;

  const sim::MeasuredOracle& of(const Case& c) {
    std::string key = reference_key(c);
    for (const auto& [known, oracle] : references) {
      if (known == key) return oracle;
    }
    sim::Oracle oracle = compute_reference(c);
    if (c.recipe.dtype != Precision::kF64) oracle.single_device = run_on_single_device(c);
    if (references.size() == kKept) references.pop_front();
    return references.emplace_back(std::move(key), sim::MeasuredOracle(std::move(oracle))).second;
  }
};

namespace {

// The checks asked for, or all that are built.
std::vector<const sim::Check*> chosen_checks(const std::vector<std::string>& names) {
  std::vector<const sim::Check*> chosen;
  for (const sim::Check& check : sim::checks()) {
    if (names.empty() && check.built) chosen.push_back(&check);
  }
  for (const std::string& name : names) {
    const sim::Check* const check = sim::find_check(name);
    if (check == nullptr || !check->built) throw UsageError("check '" + name + "' is not built");
    chosen.push_back(check);
  }
  return chosen;
}

Verdict verdict_of(const std::vector<sim::CheckResult>& checks) {
  bool any_passed = false;
  for (const sim::CheckResult& check : checks) {
    if (check.verdict == sim::CheckVerdict::kFail) return Verdict::kFail;
    any_passed = any_passed || check.verdict == sim::CheckVerdict::kPass;
  }
  return any_passed ? Verdict::kPass : Verdict::kSkipped;
}

}  // namespace

CaseRunner::CaseRunner(RunOptions options)
    : options_(std::move(options)), cache_(std::make_unique<Cache>()) {}

CaseRunner::~CaseRunner() = default;

CaseResult CaseRunner::run(const std::string& name, const Case& c) {
  const auto start = std::chrono::steady_clock::now();
  CaseResult result{.name = name, .c = c};
  try {
    if (const std::optional<std::string> reason = why_invalid(c)) {
      result.verdict = Verdict::kInvalid;
      result.reason = *reason;
    } else {
      judge(c, result);
    }
  } catch (const std::exception& error) {
    result.verdict = Verdict::kError;
    result.reason = error.what();
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

void CaseRunner::judge(const Case& c, CaseResult& result) {
  const std::vector<const sim::Check*> checks = chosen_checks(options_.checks);
  const sim::TrialResult trial = sim::run_trial(c, {.host = options_.host});
  result.digest = trial.digest;
  if (const std::optional<std::string> reason = sim::why_unfinished(trial.cluster)) {
    result.verdict = Verdict::kError;
    result.reason = *reason;
    for (const sim::Check* const check : checks) {
      result.checks.push_back(
          check->judges_unfinished
              ? check->run(trial, {})
              : sim::CheckResult{.check = check->name, .reason = "the trial did not finish"});
    }
    return;
  }
  const sim::MeasuredOracle& oracle = cache_->of(c);
  for (const sim::Check* const check : checks) result.checks.push_back(check->run(trial, oracle));
  result.verdict = verdict_of(result.checks);
  if (result.verdict == Verdict::kSkipped) {
    result.reason = "none of the checks asked for applies to this case";
  }
}

}  // namespace lockstep::matrix
