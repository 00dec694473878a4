// Finds the sub-command in the table and runs it.
#include "matrix/cli/cli.h"

#include "core/base/errors.h"
#include "matrix/cli/commands.h"
#include "matrix/cli/output.h"

namespace lockstep::matrix {

int run_command_line(const std::string& program, const std::vector<std::string>& words) {
  Arguments arguments = parse_arguments(words);
  arguments.program = program;
  if (arguments.command == "help") {
    print_out(arguments.help);
    return 0;
  }
  if (arguments.command == "version") {
    print_out(version_text());
    return 0;
  }
  for (const Command& command : commands()) {
    if (command.name != arguments.command) continue;
    if (!command.run) throw UsageError(command.name + " is not built yet");
    return command.run(arguments);
  }
  throw UsageError("unknown sub-command '" + arguments.command + "'");
}

}  // namespace lockstep::matrix
