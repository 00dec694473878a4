// The table of sub-commands: what each is for, what it takes, and what runs it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "matrix/cli/arguments.h"

namespace lockstep::matrix {

// An option that takes a value: where the value goes and what help says.
struct ValueOption {
  std::string flag;
  std::string Arguments::*value;
  std::string placeholder;
  std::string summary;
};

// May be given several times.
struct ListOption {
  std::string flag;
  std::vector<std::string> Arguments::*values;
  std::string placeholder;
  std::string summary;
};

struct SwitchOption {
  std::string flag;
  bool Arguments::*value;
  std::string summary;
};

struct Command {
  std::string name;
  std::string summary;
  std::string subject;  // placeholder of the positional argument; empty: none
  std::string subject_summary;
  std::string example;
  std::vector<ValueOption> values;
  std::vector<ListOption> lists;
  std::vector<SwitchOption> switches;
  std::function<int(const Arguments&)> run;  // none: known, but not built yet
  bool hidden = false;
  std::string exit_codes = {};  // where those of all sub-commands leave something to say
};

std::span<const Command> commands();

// The handlers. Each returns the exit code.
int sweep_command(const Arguments& arguments);
int mutate_command(const Arguments& arguments);
int expand_command(const Arguments& arguments);
int run_command(const Arguments& arguments);
int list_command(const Arguments& arguments);
int confirm_command(const Arguments& arguments);
int worker_command(const Arguments& arguments);
int rank_command(const Arguments& arguments);

// What the command was built from and with.
std::string version_text();

}  // namespace lockstep::matrix
