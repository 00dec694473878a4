// Turns the texts of options into values, or says what would be right.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/cli/arguments.h"
#include "simulator/runtime/cluster.h"

namespace lockstep::matrix {

// A device or backend that is known but that this build or machine lacks. Exit code 3.
class NotAvailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// UsageError unless the whole text is an integer from `smallest` to `largest`.
std::int64_t integer_option(std::string_view flag,
                            std::string_view text,
                            std::int64_t smallest,
                            std::int64_t largest);

// UsageError unless the whole text is a number above 0 and at most `largest`.
double positive_option(std::string_view flag, std::string_view text, double largest);

// The id of a row of the defects. UsageError, with the rows that begin so, for any other text.
std::string defect_option(const std::string& text);

// UsageError, with the nearest, unless the text is one of `known`.
std::string choice_option(std::string_view flag,
                          std::string_view text,
                          const std::vector<std::string>& known);

// A backend as `list backends` shows it.
struct BackendRow {
  std::string flag;  // --device, --comm or --ranks
  std::string name;
  std::string summary;
  std::string (*why_not)();  // empty where this build and this machine have it; else a sentence
};
const std::vector<BackendRow>& backend_rows();

// UsageError for an unknown device or backend and for options that exclude each other, NotAvailable
// for a known one that this build or machine lacks.
void check_backends(const Arguments& arguments);

// What computes: --device, or what goes with --comm.
std::string device_option(const Arguments& arguments);

sim::RankHost rank_host(const std::string& text);

}  // namespace lockstep::matrix
