// One defect in one case, held against the clean run: a pure function of two results.
#pragma once

#include <string>
#include <vector>

#include "core/base/ids.h"
#include "matrix/sweep/case_result.h"

namespace lockstep::matrix {

enum class MutantState {
  kInert,       // the edit leaves the setup's text as it is
  kUnreached,   // another text, the same bits: this case cannot show the edit
  kEquivalent,  // other bits, and every check passes
  kCaught,      // a check fails, or the trial did not finish
  kMissed       // the row says that it is visible here, and nothing fails
};

// What judging needs to know of a run; results themselves are too large to keep by the thousand.
struct RunRecord {
  bool has_run = false;
  Verdict verdict = Verdict::kSkipped;
  std::string digest = {};
  std::vector<std::string> failing = {};  // checks; "error" or "timeout" where it did not finish
  // The first cause of a failure: one of `failing`, and its place or else its reason.
  std::string check = {};
  std::string where = {};
  std::vector<Rank> ranks = {};
  std::string hint = {};
  std::string reason = {};
};

RunRecord record_of(const CaseResult& result);

// What is known of a mutant before it runs.
struct MutantTraits {
  bool is_unchanged = false;  // the setup's text is that of the clean run
  bool is_visible = false;    // the row's visible_when holds
};

struct Judgement {
  MutantState state = MutantState::kInert;
  std::string alarm = {};  // why the clean run's machinery cannot be right; empty where it can
};

// Both have run, and the clean one passed.
Judgement judge(const MutantTraits& traits, const RunRecord& clean, const RunRecord& mutant);

// Failed, errored or timed out.
bool is_bad(Verdict verdict);

// "grads at output_layer.weight, ranks 0 1, x2 = dp", or the first line of the reason.
std::string cause_text(const RunRecord& record);

}  // namespace lockstep::matrix
