// Adds judgements up, defect by defect.
#include "matrix/mutate/mutation.h"

#include <algorithm>

#include "core/base/errors.h"

namespace lockstep::matrix {
namespace {

void count_state(StateCounts& counts, MutantState state) {
  switch (state) {
    case MutantState::kInert:
      ++counts.inert;
      break;
    case MutantState::kUnreached:
      ++counts.unreached;
      break;
    case MutantState::kEquivalent:
      ++counts.equivalent;
      break;
    case MutantState::kCaught:
      ++counts.caught;
      break;
    case MutantState::kMissed:
      ++counts.missed;
      break;
  }
}

void count_checks(DefectRow& row, const RunRecord& record) {
  for (const std::string& check : record.failing) {
    const auto known = std::find_if(
        row.checks.begin(), row.checks.end(), [&](const auto& one) { return one.first == check; });
    if (known == row.checks.end()) {
      row.checks.emplace_back(check, 1);
    } else {
      ++known->second;
    }
  }
}

// One defect over all cases.
class RowJudge {
 public:
  RowJudge(const MutationPlan& plan, std::span<const RunRecord> records, std::size_t row)
      : plan_(plan), records_(records) {
    const sim::Defect& defect = plan.defects[row];
    row_.id = defect.id;
    row_.source = defect.source;
    row_.visible_when = defect.visible_when;
  }

  void add(std::size_t run) {
    const RunRole& role = plan_.roles[run];
    const RunRecord& clean = records_[role.clean];
    const RunRecord& mutant = records_[run];
    if (!mutant.has_run || !clean.has_run || clean.verdict != Verdict::kPass) {
      ++row_.num_not_judged;
      return;
    }
    const MutantState state = judge(role.traits, clean, mutant).state;
    count_state(row_.cases, state);
    const bool is_caught = state == MutantState::kCaught;
    if (role.traits.is_visible) {
      ++row_.num_visible;
      row_.num_visible_caught += is_caught ? 1 : 0;
    } else {
      row_.num_beyond += is_caught ? 1 : 0;
    }
    const NamedCase& case_as_it_is = plan_.runs[role.clean];
    if (is_caught) note_catch(run, case_as_it_is);
    if (state == MutantState::kMissed) {
      missed_.push_back({.defect = row_.id, .case_name = case_as_it_is.name, .run = run});
    }
  }

  const std::vector<MissedCase>& missed() const { return missed_; }

  DefectRow finished() {
    std::stable_sort(row_.checks.begin(), row_.checks.end(), [](const auto& a, const auto& b) {
      return a.second > b.second;
    });
    if (row_.cases.missed > 0) {
      row_.state = RowState::kMissed;
    } else if (row_.cases.caught > 0) {
      row_.state = RowState::kCaught;
    }
    return std::move(row_);
  }

 private:
  void note_catch(std::size_t run, const NamedCase& clean) {
    count_checks(row_, records_[run]);
    const std::int64_t world = world_size(clean.c.layout);
    if (row_.smallest && world >= smallest_world_) return;
    smallest_world_ = world;
    row_.smallest = {.case_name = clean.name, .record = records_[run]};
  }

  const MutationPlan& plan_;
  std::span<const RunRecord> records_;
  DefectRow row_;
  std::vector<MissedCase> missed_;
  std::int64_t smallest_world_ = 0;
};

// What is wrong with a run that no defect explains; empty where nothing is.
std::string alarm_of(const MutationPlan& plan,
                     std::span<const RunRecord> records,
                     std::size_t run) {
  const RunRole& role = plan.roles[run];
  const RunRecord& record = records[run];
  const std::string& name = plan.runs[run].name;
  if (!record.has_run) return "";
  if (!role.row) {
    return is_bad(record.verdict) ? name + ": the clean run does not pass, and its mutants are " +
                                        "not judged: " + cause_text(record)
                                  : "";
  }
  const RunRecord& clean = records[role.clean];
  if (!clean.has_run || clean.verdict != Verdict::kPass) return "";
  const std::string alarm = judge(role.traits, clean, record).alarm;
  return alarm.empty() ? "" : name + ": " + alarm;
}

void count_clean(Mutation& mutation, const NamedCase& run, const RunRecord& record) {
  if (!run.invalid_reason.empty()) return;
  ++mutation.num_cases;
  if (record.verdict == Verdict::kPass) ++mutation.num_clean_passed;
  if (record.has_run && record.verdict == Verdict::kSkipped) ++mutation.num_clean_skipped;
}

}  // namespace

std::string_view name_of(RowState state) {
  switch (state) {
    case RowState::kMissed:
      return "missed";
    case RowState::kUnreached:
      return "unreached";
    case RowState::kCaught:
      return "caught";
  }
  return "";
}

Mutation judge_all(const MutationPlan& plan, std::span<const RunRecord> records) {
  LOCKSTEP_CHECK(records.size() == plan.runs.size() && plan.roles.size() == plan.runs.size(),
                 "a mutation has another number of records than runs");
  Mutation mutation;
  std::vector<RowJudge> judges;
  for (std::size_t row = 0; row < plan.defects.size(); ++row) {
    judges.emplace_back(plan, records, row);
  }
  for (std::size_t run = 0; run < plan.runs.size(); ++run) {
    const std::optional<std::size_t> row = plan.roles[run].row;
    const bool is_invalid = !plan.runs[run].invalid_reason.empty();
    if (records[run].has_run && !is_invalid) ++mutation.num_runs;
    const std::string alarm = alarm_of(plan, records, run);
    if (!alarm.empty()) mutation.alarms.push_back(alarm);
    if (!row) {
      count_clean(mutation, plan.runs[run], records[run]);
    } else {
      judges[*row].add(run);
    }
  }
  for (RowJudge& one : judges) {
    mutation.missed.insert(mutation.missed.end(), one.missed().begin(), one.missed().end());
    mutation.rows.push_back(one.finished());
  }
  std::stable_sort(mutation.rows.begin(), mutation.rows.end(), [](const auto& a, const auto& b) {
    return a.state < b.state;
  });
  return mutation;
}

Score score_of(const Mutation& mutation) {
  Score score;
  score.num_defects = static_cast<std::int64_t>(mutation.rows.size());
  for (const DefectRow& row : mutation.rows) {
    if (row.state == RowState::kCaught) ++score.num_caught;
    score.num_caught_cases += row.num_visible_caught;
    score.num_visible_cases += row.num_visible;
  }
  return score;
}

int exit_code_of(const Mutation& mutation) {
  if (mutation.interrupted) return 130;
  if (!mutation.alarms.empty()) return 1;
  if (mutation.num_clean_passed == 0) return 4;
  const Score score = score_of(mutation);
  return score.num_caught == score.num_defects ? 0 : 1;
}

}  // namespace lockstep::matrix
