// The outcome of a mutation: a row a defect, alarms, and what was missed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "matrix/mutate/judgement.h"
#include "matrix/mutate/mutants.h"

namespace lockstep::matrix {

// In the order in which reports show them: what needs work first.
enum class RowState {
  kMissed,     // in some case that must show it
  kUnreached,  // no case of this spec could show it: none is missed, and none caught
  kCaught      // in some case, whether or not visible_when holds there; missed in none
};
std::string_view name_of(RowState state);

// Cases of a defect by their state.
struct StateCounts {
  std::int64_t inert = 0;
  std::int64_t unreached = 0;
  std::int64_t equivalent = 0;
  std::int64_t caught = 0;
  std::int64_t missed = 0;
};

// The smallest case that catches a defect: of the smallest world the first in the spec's order.
struct SmallestCatch {
  std::string case_name;
  RunRecord record;
};

struct DefectRow {
  std::string id = {};
  std::string source = {};
  std::string visible_when = {};
  RowState state = RowState::kUnreached;
  StateCounts cases = {};
  std::int64_t num_visible = 0;         // judged cases in which visible_when holds
  std::int64_t num_visible_caught = 0;  // of those
  std::int64_t num_beyond = 0;          // caught although visible_when does not hold
  std::int64_t num_not_judged = 0;      // it, or its clean run, did not run or did not pass
  // Checks that failed, with the number of cases; the commonest first.
  std::vector<std::pair<std::string, std::int64_t>> checks = {};
  std::optional<SmallestCatch> smallest = {};
};

struct MissedCase {
  std::string defect;
  std::string case_name;
  std::size_t run = 0;  // index of the mutant in the plan
};

struct Mutation {
  std::string name = {};
  double seconds = 0.0;
  double runs_per_second = 0.0;  // of those that ran now
  std::size_t num_workers = 0;
  std::size_t num_kept = 0;  // runs that an earlier command had finished
  bool interrupted = false;
  std::int64_t num_runs = 0;   // that have a result, and are no invalid case
  std::int64_t num_cases = 0;  // that can exist
  std::int64_t num_clean_passed = 0;
  std::int64_t num_clean_skipped = 0;    // to which none of the checks asked for applies
  std::vector<DefectRow> rows = {};      // by state, then in the table's order
  std::vector<std::string> alarms = {};  // in the order of the runs
  std::vector<MissedCase> missed = {};   // by defect, then in the spec's order
};

struct Score {
  std::int64_t num_caught = 0;  // rows
  std::int64_t num_defects = 0;
  std::int64_t num_caught_cases = 0;  // of all rows, where visible_when holds
  std::int64_t num_visible_cases = 0;
};
Score score_of(const Mutation& mutation);

// `records` has one entry a run of the plan. Names, times and workers are left to the caller.
Mutation judge_all(const MutationPlan& plan, std::span<const RunRecord> records);

// 0 where every row is caught and there is no alarm; 1, 4 and 130 as for a sweep.
int exit_code_of(const Mutation& mutation);

}  // namespace lockstep::matrix
