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
#include "matrix/sweep/own_steps.h"
#include "matrix/sweep/single_device.h"
#include "simulator/checks/checks.h"
#include "simulator/runtime/trial.h"

namespace lockstep::matrix {

// The last references by key. A sweep deals cases of one key in a row, so a few suffice.
struct CaseRunner::Cache {
  static constexpr std::size_t kKept = 8;

  struct Known {
    std::string key;
    sim::Oracle reference;         // kept below f64, where each trial has an oracle of its own
    sim::MeasuredOracle measured;  // of f64
  };
  std::deque<Known> known;

  const Known& of(const Case& c) {
    std::string key = reference_key(c);
    for (const Known& one : known) {
      if (one.key == key) return one;
    }
    Known made{.key = std::move(key), .reference = compute_reference(c), .measured = {}};
    if (c.recipe.dtype == Precision::kF64) {
      made.measured = sim::MeasuredOracle(std::move(made.reference));
    } else {
      SingleDeviceDifferences off = single_device_differences(c, made.reference);
      made.reference.single_device = std::move(off.usual);
      made.reference.single_device_mean = std::move(off.mean);
    }
    if (known.size() == kKept) known.pop_front();
    return known.emplace_back(std::move(made));
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

// Below f64: each step from where the trial stood.
sim::MeasuredOracle oracle_of(const sim::TrialResult& trial, const sim::Oracle& reference) {
  return sim::MeasuredOracle({.initial_parameters = reference.initial_parameters,
                              .steps = steps_from_own_masters(trial.c, trial, reference),
                              .single_device = reference.single_device,
                              .single_device_mean = reference.single_device_mean});
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
  CaseResult result{
      .name = name, .c = c, .comm = options_.ranks.comm, .device = options_.ranks.device};
  try {
    if (const std::optional<std::string> reason = why_invalid(c)) {
      result.verdict = Verdict::kInvalid;
      result.reason = *reason;
    } else if (const std::optional<std::string> why_not = options_.ranks.why_not(c)) {
      result.verdict = Verdict::kSkipped;
      result.reason = *why_not;
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
  const sim::TrialResult trial = options_.ranks.run(c);
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
    if (options_.second_opinion) options_.second_opinion(trial, result);
    return;
  }
  const Cache::Known& known = cache_->of(c);
  const bool is_f64 = c.recipe.dtype == Precision::kF64;
  const sim::MeasuredOracle own =
      is_f64 ? sim::MeasuredOracle() : oracle_of(trial, known.reference);
  const sim::MeasuredOracle& oracle = is_f64 ? known.measured : own;
  for (const sim::Check* const check : checks) result.checks.push_back(check->run(trial, oracle));
  if (options_.second_opinion) options_.second_opinion(trial, result);
  result.verdict = verdict_of(result.checks);
  if (result.verdict == Verdict::kSkipped) {
    result.reason = "none of the checks asked for applies to this case";
  }
}

}  // namespace lockstep::matrix
