// Resumes, deals, collects: the loop between the results file and the workers.
#include "matrix/sweep/sweep.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "core/base/errors.h"
#include "core/config/case_json.h"
#include "matrix/sweep/dealer.h"
#include "matrix/sweep/messages.h"
#include "matrix/sweep/worker_pool.h"

namespace lockstep::matrix {
namespace {

using Clock = std::chrono::steady_clock;

class Sweep {
 public:
  Sweep(const std::vector<NamedCase>& known,
        const SweepOptions& options,
        ResultsFile& results,
        Progress& progress)
      : known_(known), options_(options), results_(results), progress_(progress) {}

  SweepOutcome run(const std::vector<std::size_t>& selected) {
    begin(selected);
    outcome_.num_selected = selected.size();
    std::vector<DealtCase> to_run;
    for (const std::size_t index : selected) {
      if (finished_.contains(index)) continue;
      ++num_left_;
      if (known_[index].invalid_reason.empty()) {
        to_run.push_back({.index = index, .reference_key = reference_key(known_[index].c)});
      } else {
        record(index, result_of(known_[index], Verdict::kInvalid));
      }
    }
    run_on_workers(to_run);
    finish();
    return std::move(outcome_);
  }

 private:
  void begin(const std::vector<std::size_t>& selected) {
    if (!options_.resume) {
      results_.start_anew();
      return;
    }
    const std::set<std::size_t> is_selected(selected.begin(), selected.end());
    std::map<std::string, std::size_t> index_of_name;
    for (std::size_t i = 0; i < known_.size(); ++i) index_of_name.emplace(known_[i].name, i);
    outcome_.num_dropped = results_.resume([&](const CaseResult& result) {
      const auto place = index_of_name.find(result.name);
      if (place == index_of_name.end()) return false;
      if (case_id(known_[place->second].c) != case_id(result.c)) return false;
      if (result.comm != options_.comm || result.device != options_.device) return false;
      if (!is_decided(result.verdict) && is_selected.contains(place->second)) {
        ++outcome_.num_undecided;
        return false;
      }
      if (!finished_.insert(place->second).second) return false;
      take_note(place->second, result);
      return true;
    });
    outcome_.num_dropped -= outcome_.num_undecided;
    outcome_.num_kept = finished_.size();
  }

  // An error or a timeout may be the machine's: resuming tries such a case again.
  static bool is_decided(Verdict verdict) {
    switch (verdict) {
      case Verdict::kPass:
      case Verdict::kFail:
      case Verdict::kInvalid:
        return true;
      case Verdict::kError:
      case Verdict::kTimeout:
      case Verdict::kSkipped:
        return false;
    }
    return false;
  }

  CaseResult result_of(const NamedCase& named_case, Verdict verdict) const {
    CaseResult result;
    result.comm = options_.comm;
    result.device = options_.device;
    result.name = named_case.name;
    result.c = named_case.c;
    result.verdict = verdict;
    result.reason = named_case.invalid_reason;
    return result;
  }

  void run_on_workers(const std::vector<DealtCase>& to_run) {
    outcome_.num_workers = std::min(options_.num_jobs, to_run.size());
    if (to_run.empty()) return;
    Dealer dealer(to_run, outcome_.num_workers);
    const WorkerPoolOptions pool{.command = options_.worker_command,
                                 .num_workers = outcome_.num_workers,
                                 .timeout_s = options_.timeout_s};
    const WorkerPoolHooks hooks{
        .next = [&](std::size_t worker) { return dealer.next(worker); },
        .request =
            [&](std::size_t index) { return request_to_json(known_[index].name, known_[index].c); },
        .done = [&](std::size_t index, const WorkerAnswer& answer) { return take(index, answer); },
        .tick = [&] { progress_.update(state()); }};
    outcome_.interrupted = run_worker_pool(pool, hooks) == PoolEnd::kInterrupted;
  }

  bool take(std::size_t index, const WorkerAnswer& answer) {
    CaseResult result = result_of(known_[index], Verdict::kError);
    result.seconds = answer.seconds;
    bool trusted = true;
    switch (answer.kind) {
      case WorkerAnswer::Kind::kLine:
        trusted = read_answer(answer.text, result);
        break;
      case WorkerAnswer::Kind::kCrash:
        result.reason = "the worker was lost: " + answer.text;
        break;
      case WorkerAnswer::Kind::kTimeout:
        result.verdict = Verdict::kTimeout;
        result.reason = "no result within the time limit";
        if (!answer.text.empty()) result.reason += ": " + answer.text;
        break;
    }
    ++num_ran_;
    record(index, result);
    progress_.update(state());
    return trusted;
  }

  // Fills `result` from the worker's line; false where it is not the line of this case.
  static bool read_answer(const std::string& line, CaseResult& result) {
    try {
      CaseResult answer = result_from_json(line);
      if (answer.name != result.name || case_id(answer.c) != case_id(result.c)) {
        throw UsageError("it is that of another case, " + answer.name);
      }
      if (answer.comm != result.comm) throw UsageError("it was run over " + answer.comm);
      if (answer.device != result.device) throw UsageError("it was run on " + answer.device);
      result = std::move(answer);
      return true;
    } catch (const UsageError& error) {
      result.reason = std::string("the worker's answer cannot be used: ") + error.what();
      return false;
    }
  }

  void record(std::size_t index, const CaseResult& result) {
    results_.append(result_to_json(result));
    take_note(index, result);
    --num_left_;
    ++num_recorded_;
  }

  void take_note(std::size_t index, const CaseResult& result) {
    outcome_.tally.add(index, result);
    if (options_.on_result) options_.on_result(index, result);
  }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }

  ProgressState state() const {
    const double elapsed = seconds();
    return ProgressState{.num_done = num_recorded_,
                         .num_cases = num_recorded_ + num_left_,
                         .num_bad = outcome_.tally.num_bad(),
                         .word_for_bad = options_.word_for_bad,
                         .word_for_cases = options_.word_for_cases,
                         .seconds = elapsed,
                         .cases_per_second = rate(elapsed)};
  }

  double rate(double elapsed) const {
    return elapsed > 0.0 ? static_cast<double>(num_ran_) / elapsed : 0.0;
  }

  void finish() {
    const double elapsed = seconds();
    progress_.finish(state());
    outcome_.summary = outcome_.tally.counts();
    outcome_.summary.name = options_.name;
    outcome_.summary.has_headroom = options_.has_headroom;
    outcome_.summary.count(Verdict::kSkipped) += static_cast<std::int64_t>(num_left_);
    outcome_.summary.seconds = elapsed;
    outcome_.summary.cases_per_second = rate(elapsed);
    results_.write_beside("summary.json", summary_to_json(outcome_.summary) + "\n");
  }

  const std::vector<NamedCase>& known_;
  const SweepOptions& options_;
  ResultsFile& results_;
  Progress& progress_;
  Clock::time_point started_ = Clock::now();
  SweepOutcome outcome_;
  std::set<std::size_t> finished_;
  std::size_t num_left_ = 0;
  std::size_t num_recorded_ = 0;
  std::size_t num_ran_ = 0;
};

}  // namespace

SweepOutcome run_sweep(const std::vector<NamedCase>& known,
                       const std::vector<std::size_t>& selected,
                       const SweepOptions& options,
                       ResultsFile& results,
                       Progress& progress) {
  return Sweep(known, options, results, progress).run(selected);
}

int exit_code_of(const SweepOutcome& outcome) {
  if (outcome.interrupted) return 130;
  if (outcome.summary.num_bad() > 0) return 1;
  if (outcome.summary.count(Verdict::kPass) == 0) return 4;
  return 0;
}

}  // namespace lockstep::matrix
