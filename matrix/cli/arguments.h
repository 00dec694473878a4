// The command line as typed, sorted into fields but not yet understood.
#pragma once

#include <string>
#include <vector>

namespace lockstep::matrix {

// Texts are empty where the user did not say. What they must look like is checked where they are
// used, so that every refusal can say what would be right.
struct Arguments {
  std::string program;  // as the user called it
  std::string command;  // a sub-command, "version", or "help"
  std::string help;     // the text, where command is "help"
  std::string subject;  // the spec, or what to list
  std::string out;
  std::string device;
  std::string comm;
  std::string ranks;
  std::string gpus;
  std::string jobs;
  std::string shard;
  std::string only;
  std::string limit;
  std::string seed;
  std::string timeout;
  std::string format;
  std::string case_text;  // JSON or @FILE
  std::string trace;
  std::string dump;
  std::string checks;
  std::string asked_launcher;
  // Between processes of this command only: what a worker holds its trials against, where the
  // coordinator listens, which rank's process this is, what a launcher started, and whether ranks
  // may share GPUs.
  std::string against;
  std::string coordinator;
  std::string seat;
  std::string generation;
  std::string processes;
  std::string launcher;
  std::string host;
  std::string listening;
  std::vector<std::string> defects;
  std::vector<std::string> set;
  bool resume = false;
  bool share_gpus = false;
};

// `words` are argv without the program. UsageError for what no sub-command takes.
Arguments parse_arguments(const std::vector<std::string>& words);

}  // namespace lockstep::matrix
