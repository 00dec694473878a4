// What a sweep said of its cases joined with what came of them on another backend.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "matrix/confirm/choose.h"
#include "matrix/sweep/case_result.h"

namespace lockstep::matrix {

// Both agree where the simulated ranks still do what the sweep saw (digest), the verdicts by the
// sweep's checks are equal, and the check "agreement" did not fail. Failing cases may fail in other
// places or by other checks: that is told, and no disagreement.
struct JoinedCase {
  std::string name;
  Verdict simulated = Verdict::kSkipped;      // the sweep's
  Verdict confirmed = Verdict::kSkipped;      // the other backend's
  std::optional<sim::Place> difference = {};  // the largest; none where nothing was compared
  bool agrees = false;
  std::string reason = {};  // of a disagreement
  std::string note = {};    // beside an agreement
};

JoinedCase join(const CaseResult& swept, const CaseResult& confirmed);

struct Confirmation {
  std::string name = {};  // of the sweep
  std::string comm = {};
  std::vector<JoinedCase> cases = {};  // in the order in which they were chosen
  std::size_t num_chosen = 0;          // more than `cases` where it was interrupted
  std::size_t num_fit = 0;
  std::vector<LeftOut> left_out = {};
  double seconds = 0.0;
  bool interrupted = false;

  std::size_t num_agreeing() const;
  // The case with the largest difference of those that are judged, or of those that are only told;
  // none where nothing was compared.
  const JoinedCase* largest(bool is_judged) const;
};

// 130 interrupted, 1 where a case disagrees, 4 where none was confirmed, else 0.
int exit_code_of(const Confirmation& confirmation);

}  // namespace lockstep::matrix
