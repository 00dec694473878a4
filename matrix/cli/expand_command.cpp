// `lockstep expand`: which cases a sweep would run.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/errors.h"
#include "core/config/case_json.h"
#include "matrix/cli/case_list.h"
#include "matrix/cli/commands.h"
#include "matrix/cli/output.h"
#include "matrix/cli/values.h"
#include "matrix/sweep/report_text.h"

namespace lockstep::matrix {
namespace {

// The service refuses a job matrix with more entries.
constexpr std::int64_t kMaxJobs = 256;

std::int64_t num_invalid(const CaseSelection& selection) {
  return std::count_if(selection.selected.begin(), selection.selected.end(), [&](std::size_t i) {
    return !selection.known[i].invalid_reason.empty();
  });
}

std::string checked_job_matrix(const CaseSelection& selection) {
  const std::int64_t num_cases =
      static_cast<std::int64_t>(selection.selected.size()) - num_invalid(selection);
  if (num_cases > kMaxJobs) {
    throw UsageError(fmt::format(
        "--format github: {} cases, but a job matrix holds at most {}; use --shard or --limit",
        num_cases,
        kMaxJobs));
  }
  return job_matrix(selection);
}

}  // namespace

std::string case_table(const CaseSelection& selection) {
  std::size_t width = 4;
  for (const std::size_t i : selection.selected) {
    width = std::max(width, selection.known[i].name.size());
  }
  std::string text = fmt::format("{:<{}}  {:>5}  id\n", "name", width, "world");
  for (const std::size_t i : selection.selected) {
    const NamedCase& one = selection.known[i];
    text +=
        fmt::format("{:<{}}  {:>5}  {}", one.name, width, world_size(one.c.layout), case_id(one.c));
    if (!one.invalid_reason.empty()) text += "  invalid: " + one.invalid_reason;
    text += "\n";
  }
  return text + fmt::format("{} {}, {} invalid\n",
                            with_commas(static_cast<std::int64_t>(selection.selected.size())),
                            selection.selected.size() == 1 ? "case" : "cases",
                            with_commas(num_invalid(selection)));
}

int expand_command(const Arguments& arguments) {
  const std::string format =
      arguments.format.empty()
          ? "table"
          : choice_option("--format", arguments.format, {"table", "json", "github"});
  const CaseSelection selection = select_cases(arguments);
  if (format == "table") print_out(case_table(selection));
  if (format == "json") print_out(case_lines(selection));
  if (format == "github") print_out(checked_job_matrix(selection));
  return selection.selected.empty() ? exit_code_of_nothing(selection, arguments) : 0;
}

}  // namespace lockstep::matrix
