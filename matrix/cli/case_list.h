// The cases of a selection as text, for people and for programs.
#pragma once

#include <string>

#include "matrix/cli/selection.h"

namespace lockstep::matrix {

// A row a case: name, world, and why it is invalid.
std::string case_table(const CaseSelection& selection);

// {"id":..,"name":..,"case":{..},"invalid":".."} a line.
std::string case_lines(const CaseSelection& selection);

// {"include":[{"name":..,"case":".."}]}: the case is text, to be handed to `lockstep run --case`.
// Invalid cases are left out, for a job could not run them.
std::string job_matrix(const CaseSelection& selection);

}  // namespace lockstep::matrix
