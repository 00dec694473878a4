// Starts and ends processes; the one file that sees Boost.Process.
#include "matrix/sweep/worker_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

// Boost.Asio 1.74 in C++20 needs std::exchange declared before it.
#include <utility>
//
#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/io.hpp>
#include <boost/process/posix.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "matrix/sweep/worker_pool.h"

namespace lockstep::matrix {
namespace {

namespace bp = boost::process;

// Both ends close on exec: a worker that held another one's standard input would keep it alive.
struct Pipe {
  int read_end;
  int write_end;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw LaunchError(std::string("cannot make a pipe to a worker: ") + std::strerror(errno));
  }
  return Pipe{.read_end = ends[0], .write_end = ends[1]};
}

void close_pipe(const Pipe& pipe) {
  ::close(pipe.read_end);
  ::close(pipe.write_end);
}

}  // namespace

StartedProcess start_process(const std::vector<std::string>& command) {
  const Pipe requests = make_pipe();
  const Pipe answers = make_pipe();
  const Pipe words = make_pipe();
  try {
    bp::child child(bp::exe = command.at(0),
                    bp::args = std::vector<std::string>(command.begin() + 1, command.end()),
                    bp::posix::fd.bind(STDIN_FILENO, requests.read_end),
                    bp::posix::fd.bind(STDOUT_FILENO, answers.write_end),
                    bp::posix::fd.bind(STDERR_FILENO, words.write_end));
    const pid_t pid = child.id();
    child.detach();
    ::close(requests.read_end);
    ::close(answers.write_end);
    ::close(words.write_end);
    return StartedProcess{.pid = pid,
                          .requests = requests.write_end,
                          .answers = answers.read_end,
                          .words = words.read_end};
  } catch (const bp::process_error& error) {
    close_pipe(requests);
    close_pipe(answers);
    close_pipe(words);
    throw LaunchError("cannot start the worker " + command.at(0) + ": " + error.code().message());
  }
}

StartedHost start_host(const std::vector<std::string>& command) {
  const Pipe orders = make_pipe();
  const Pipe notices = make_pipe();
  ::fcntl(notices.read_end, F_SETFL, O_NONBLOCK);
  try {
    bp::child child(bp::exe = command.at(0),
                    bp::args = std::vector<std::string>(command.begin() + 1, command.end()),
                    bp::posix::fd.bind(STDIN_FILENO, orders.read_end),
                    bp::posix::fd.bind(STDOUT_FILENO, notices.write_end));
    const pid_t pid = child.id();
    child.detach();
    ::close(orders.read_end);
    ::close(notices.write_end);
    return StartedHost{.pid = pid, .orders = orders.write_end, .notices = notices.read_end};
  } catch (const bp::process_error& error) {
    close_pipe(orders);
    close_pipe(notices);
    throw LaunchError("cannot start " + command.at(0) + ": " + error.code().message());
  }
}

pid_t start_child(const std::vector<std::string>& command) {
  try {
    bp::child child(bp::exe = command.at(0),
                    bp::args = std::vector<std::string>(command.begin() + 1, command.end()),
                    bp::std_in < bp::null);
    const pid_t pid = child.id();
    child.detach();
    return pid;
  } catch (const bp::process_error& error) {
    throw LaunchError("cannot start " + command.at(0) + ": " + error.code().message());
  }
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == pid;
}

std::string end_process(pid_t pid) {
  // A process that has already ended keeps its own status; only a live one takes the signal.
  ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return "ended in an unknown way";
  }
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return "killed by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
  }
  return "exited with code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace lockstep::matrix
