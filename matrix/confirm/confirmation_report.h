// What the user is told of a confirmation.
#pragma once

#include <string>
#include <vector>

#include "matrix/confirm/confirmation.h"

namespace lockstep::matrix {

// A row a case below the names of the columns: for a table.
std::vector<std::vector<std::string>> confirmation_rows(const Confirmation& confirmation);

// What stands below the table: counts, the largest differences, what was left out and why.
std::string confirmation_closing(const Confirmation& confirmation);

// One line.
std::string confirmation_to_json(const Confirmation& confirmation);

}  // namespace lockstep::matrix
