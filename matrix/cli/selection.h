// From a spec's path and the options that narrow it to the cases at hand.
#pragma once

#include <string>
#include <vector>

#include "matrix/cli/arguments.h"
#include "matrix/spec/expand.h"

namespace lockstep::matrix {

struct CaseSelection {
  std::string name;                   // of the spec
  std::vector<NamedCase> known;       // all cases of the spec, in its order, defects edited in
  std::vector<std::size_t> selected;  // of those, after --only, --shard and --limit
  std::size_t num_before_shard = 0;   // that --only left
  std::vector<std::string> checks;    // names; empty: all that are built
};

// UsageError for anything wrong with the spec or the options.
CaseSelection select_cases(const Arguments& arguments);

// Those of the selected that can exist.
std::vector<const Case*> cases_to_run(const CaseSelection& selection);

// What a command returns that has nothing to do, after one line on standard error that says why: 0
// for an empty shard of a spec that has cases, 4 otherwise.
int exit_code_of_nothing(const CaseSelection& selection, const Arguments& arguments);

}  // namespace lockstep::matrix
