// `lockstep run`: one case, in this process, so that a debugger sees it.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/base/errors.h"
#include "core/config/case_json.h"
#include "core/config/fields.h"
#include "core/config/rules.h"
#include "matrix/cli/commands.h"
#include "matrix/cli/output.h"
#include "matrix/cli/values.h"
#include "matrix/sweep/run_case.h"
#include "simulator/defects/defect.h"

namespace lockstep::matrix {
namespace {

std::string case_text(const std::string& argument) {
  if (argument.empty()) {
    throw UsageError("run needs --case, JSON or @FILE; see lockstep run --help");
  }
  if (argument.front() != '@') return argument;
  const std::string path = argument.substr(1);
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file || text.empty()) {
    const std::string why = file.is_open() ? "it is empty or no file" : std::strerror(errno);
    throw UsageError("--case: cannot read '" + path + "': " + why);
  }
  return text;
}

Case checked_case(const std::string& argument) {
  const std::string text = case_text(argument);
  try {
    const Case c = case_from_json(text);
    check_built(c);
    check_world(c);
    for (const std::string& id : c.defects) sim::find_defect(id);
    return c;
  } catch (const UsageError& error) {
    throw UsageError(std::string("--case: ") + error.what());
  }
}

int exit_code(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return 0;
    case Verdict::kFail:
    case Verdict::kError:
    case Verdict::kTimeout:
      return 1;
    case Verdict::kInvalid:
    case Verdict::kSkipped:
      return 4;
  }
  return 1;
}

}  // namespace

int run_command(const Arguments& arguments) {
  check_backends(arguments);
  if (!arguments.trace.empty()) throw UsageError("run --trace is not built yet");
  if (!arguments.dump.empty()) throw UsageError("run --dump is not built yet");
  const Case c = checked_case(arguments.case_text);
  CaseRunner runner(RunOptions{.host = rank_host(arguments.ranks), .checks = {}});
  // A case knows no axes, so its id is its name.
  const CaseResult result = runner.run(case_id(c), c);
  print_out(result_to_json(result) + "\n");
  return exit_code(result.verdict);
}

}  // namespace lockstep::matrix
