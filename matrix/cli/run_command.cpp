// `lockstep run`: one case, its simulated ranks in this process, so that a debugger sees them.
#include <string>

#include "core/base/errors.h"
#include "core/config/case_json.h"
#include "core/config/fields.h"
#include "core/config/rules.h"
#include "core/config/text_file.h"
#include "matrix/cli/commands.h"
#include "matrix/cli/gpu_options.h"
#include "matrix/cli/launched.h"
#include "matrix/cli/output.h"
#include "matrix/cli/ranks_option.h"
#include "matrix/cli/values.h"
#include "matrix/sweep/run_case.h"

namespace lockstep::matrix {
namespace {

constexpr std::size_t kCaseBytesMax = std::size_t{1} << 20;

std::string case_text(const std::string& argument) {
  if (argument.empty()) {
    throw UsageError("expected JSON or @FILE; see lockstep run --help");
  }
  if (argument.front() != '@') return argument;
  return read_text_file(argument.substr(1), kCaseBytesMax);
}

Case checked_case(const std::string& argument) {
  try {
    const Case c = case_from_json(case_text(argument));
    check_built(c);
    check_world(c);
    for (const std::string& id : c.defects) defect_option(id);
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
  return on_leader(arguments, [&c](const Arguments& leading) {
    const Arguments settled = settle_gpus(leading, {&c});
    CaseRunner runner(RunOptions{.ranks = ranks_option(settled), .checks = {}});
    // A case knows no axes, so its id is its name.
    const CaseResult result = runner.run(case_id(c), c);
    print_out(result_to_json(result) + "\n");
    return exit_code(result.verdict);
  });
}

}  // namespace lockstep::matrix
