// Reads a request, runs it, answers with one line; ends with its parent.
#include "matrix/sweep/worker_loop.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

#include "matrix/sweep/messages.h"
#include "matrix/sweep/write_all.h"

namespace lockstep::matrix {
namespace {

// An interrupt of the terminal reaches the whole process group, but ending a worker is the
// command's business; a worker that hangs while the command dies must not outlive it.
void bind_to_parent() {
  std::signal(SIGINT, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int take_answer_descriptor() {
  const int answers = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  return answers;
}

CaseResult run_guarded(const RunCase& run, const WorkerRequest& request) {
  try {
    return run(request.name, request.c);
  } catch (const std::exception& error) {
    CaseResult result;
    result.name = request.name;
    result.c = request.c;
    result.verdict = Verdict::kError;
    result.reason = error.what();
    return result;
  }
}

}  // namespace

int serve_cases(const RunCase& run, const std::function<bool()>& is_spent) {
  bind_to_parent();
  const int answers = take_answer_descriptor();
  std::string line;
  while (std::getline(std::cin, line)) {
    const CaseResult result = run_guarded(run, request_from_json(line));
    const bool is_last = is_spent();
    const std::string mark(is_last ? kSpentMark : "");
    if (!write_all(answers, mark + result_to_json(result) + "\n")) return 1;
    if (is_last) return 0;
  }
  return 0;
}

}  // namespace lockstep::matrix
