// A worker for tests: what it does with a case is spelled in the case's name.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "matrix/sweep/worker_loop.h"

namespace {

using lockstep::Case;
using lockstep::matrix::CaseResult;
using lockstep::matrix::Verdict;

CaseResult act(const std::string& name, const Case& c) {
  const auto says = [&](const char* word) { return name.find(word) != std::string::npos; };
  if (says("segv")) {
    std::fputs("about to fall\n", stderr);
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
  }
  if (says("exit")) std::_Exit(3);
  if (says("hang")) {
    std::fputs("about to hang\n", stderr);
    while (true) ::pause();
  }
  if (says("throw")) throw std::runtime_error("thrown on purpose");
  if (says("print")) {
    std::puts("{\"stray\": \"line\"}");
    std::fflush(stdout);
  }
  CaseResult result;
  result.name = says("rename") ? "another" : name;
  result.c = c;
  result.verdict = Verdict::kPass;
  result.digest = std::to_string(::getpid());
  return result;
}

}  // namespace

// A case named "spent" is the last that its process can run.
int main() {
  bool is_spent = false;
  return lockstep::matrix::serve_cases(
      [&is_spent](const std::string& name, const Case& c) {
        is_spent = name.find("spent") != std::string::npos;
        return act(name, c);
      },
      [&is_spent] { return is_spent; });
}
