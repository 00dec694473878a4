// Parses the command line from the table of sub-commands; the one file that sees CLI11.
#include "matrix/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/base/errors.h"
#include "core/config/fields.h"
#include "matrix/cli/commands.h"

namespace lockstep::matrix {
namespace {

constexpr std::size_t kHelpColumn = 34;

const char* const kAbout =
    "Lockstep proves that a parallel layout trains the same model as one device does,\n"
    "on simulated ranks, and says exactly where it does not.";

const char* const kExitCodes =
    "Exit codes: 0 all passed, 1 some case failed or a defect was missed, 2 bad usage or input,\n"
    "            3 not in this build or machine, 4 nothing ran, 130 interrupted.";

void add_command(CLI::App& app, const Command& command, Arguments& arguments) {
  CLI::App* sub = app.add_subcommand(command.name, command.summary);
  const std::string exit_codes = command.exit_codes.empty() ? "" : "\n\n" + command.exit_codes;
  sub->footer("Example:\n  " + command.example + exit_codes);
  if (command.hidden) sub->group("");
  if (!command.run) sub->allow_extras();
  if (!command.subject.empty()) {
    sub->add_option(command.subject, arguments.subject, command.subject_summary)
        ->required()
        ->type_name("");
  }
  for (const ValueOption& option : command.values) {
    sub->add_option(option.flag, arguments.*option.value, option.summary)
        ->type_name(option.placeholder);
  }
  for (const ListOption& option : command.lists) {
    sub->add_option(option.flag, arguments.*option.values, option.summary)
        ->type_name(option.placeholder)
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  for (const SwitchOption& option : command.switches) {
    sub->add_flag(option.flag, arguments.*option.value, option.summary);
  }
}

// A mistyped sub-command is told before the parser speaks of an unexpected argument.
void check_command_name(const std::vector<std::string>& words) {
  if (words.empty()) {
    throw UsageError("a sub-command is needed, as in 'lockstep sweep SPEC'; see lockstep --help");
  }
  const std::string& first = words.front();
  if (first == "-h" || first == "--help" || first == "--version") return;
  if (first.starts_with("-")) {
    throw UsageError("unknown option '" + first + "'; options come after the sub-command");
  }
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == words.front()) return;
    if (!command.hidden) names.push_back(command.name);
  }
  throw UsageError("unknown sub-command '" + words.front() + "'" +
                   did_you_mean(words.front(), names, "; see lockstep --help"));
}

// "unknown option '--job'; did you mean '--jobs'?", for the first word that nothing takes.
std::string unexpected(const CLI::App& app, const std::vector<std::string>& words) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  std::vector<std::string> flags;
  for (const CLI::Option* option : (chosen.empty() ? &app : chosen.front())->get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  for (const std::string& word : words) {
    const std::string flag = word.substr(0, word.find('='));
    if (!flag.starts_with("-") || std::find(flags.begin(), flags.end(), flag) != flags.end()) {
      continue;
    }
    return "unknown option '" + flag + "'" + did_you_mean(flag, flags);
  }
  return "'" + words.back() + "' was not expected";
}

// An option without a value would be taken as not given, and one given twice is told in the
// parser's own words. Neither is asked of options that may be given several times.
void check_values(const std::vector<std::string>& words) {
  const auto command = std::find_if(commands().begin(), commands().end(), [&](const auto& known) {
    return known.name == words.front();
  });
  if (command == commands().end()) return;
  for (const ValueOption& option : command->values) {
    std::size_t num_given = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const bool alone = words[i] == option.flag;
      if (!alone && !words[i].starts_with(option.flag + "=")) continue;
      ++num_given;
      if (words[i] == option.flag + "=" ||
          (alone && i + 1 < words.size() && words[i + 1].empty())) {
        throw UsageError(option.flag + ": expected " + option.placeholder + ", got nothing");
      }
    }
    if (num_given > 1) {
      throw UsageError(option.flag + " is given " + std::to_string(num_given) +
                       " times; give it once");
    }
  }
}

}  // namespace

Arguments parse_arguments(const std::vector<std::string>& words) {
  check_command_name(words);
  check_values(words);
  Arguments arguments;
  CLI::App app(kAbout, "lockstep");
  app.get_formatter()->column_width(kHelpColumn);
  app.footer(kExitCodes);
  app.require_subcommand(0, 1);
  bool version = false;
  app.add_flag("--version", version, "what this command was built from and with");
  for (const Command& command : commands()) add_command(app, command, arguments);
  try {
    // The parser takes the words from the back.
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    arguments.command = "help";
    arguments.help = app.help();
    return arguments;
  } catch (const CLI::ExtrasError&) {
    throw UsageError(unexpected(app, words));
  } catch (const CLI::ParseError& error) {
    throw UsageError(std::string(error.what()) + "; see lockstep " +
                     (words.front().starts_with("-") ? "" : words.front() + " ") + "--help");
  }
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  arguments.command = version ? "version" : chosen.empty() ? "" : chosen.front()->get_name();
  if (arguments.command.empty()) check_command_name({});
  return arguments;
}

}  // namespace lockstep::matrix
