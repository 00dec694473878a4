// fork, exec, wait.
#include "tests/matrix/cli/run_lockstep.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "tests/matrix/sweep/sample_results.h"

namespace lockstep::test {
namespace {

void redirect(const std::string& path, int descriptor) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  ::dup2(file, descriptor);
  ::close(file);
}

// LOCKSTEP_COMMAND is a whole path, or one from this executable's folder, where a build is moved to
// another machine.
std::string command_path() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / LOCKSTEP_COMMAND;
}

}  // namespace

pid_t start_lockstep(const std::vector<std::string>& words,
                     const std::string& folder,
                     const std::vector<std::string>& environment) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  redirect(folder + "/OUT", STDOUT_FILENO);
  redirect(folder + "/ERR", STDERR_FILENO);
  std::vector<char*> argv;
  std::string program = command_path();
  std::vector<std::string> copies = words;
  std::vector<std::string> variables = environment;
  for (std::string& variable : variables) ::putenv(variable.data());
  argv.push_back(program.data());
  for (std::string& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  if (::chdir(folder.c_str()) == 0) ::execv(program.c_str(), argv.data());
  ::_exit(127);
}

CommandOutcome wait_for_lockstep(pid_t pid, const std::string& folder) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  CommandOutcome outcome;
  outcome.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  outcome.out = read_text(folder + "/OUT");
  outcome.err = read_text(folder + "/ERR");
  return outcome;
}

CommandOutcome run_lockstep(const std::vector<std::string>& words, const std::string& folder) {
  return wait_for_lockstep(start_lockstep(words, folder), folder);
}

std::vector<std::string> children_of(pid_t pid) {
  const std::string id = std::to_string(pid);
  std::istringstream words(read_text("/proc/" + id + "/task/" + id + "/children"));
  std::vector<std::string> children;
  std::string child;
  while (words >> child) children.push_back(child);
  return children;
}

void wait_for_end(const std::string& pid) {
  while (true) {
    const std::string status = read_text("/proc/" + pid + "/stat");
    if (status.empty() || status.find(") Z ") != std::string::npos) return;
    ::sched_yield();
  }
}

bool wait_for_lines(const std::string& path, std::size_t num_lines, pid_t pid) {
  while (true) {
    const std::string text = read_text(path);
    const auto count = std::count(text.begin(), text.end(), '\n');
    if (static_cast<std::size_t>(count) >= num_lines) return true;
    siginfo_t ended = {};
    ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (ended.si_pid == pid) return false;
    ::sched_yield();
  }
}

}  // namespace lockstep::test
