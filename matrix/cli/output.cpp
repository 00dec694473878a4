// Plain write(2) to the standard streams.
#include "matrix/cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "core/base/errors.h"
#include "matrix/sweep/write_all.h"

namespace lockstep::matrix {

void print_out(std::string_view text) {
  if (write_all(STDOUT_FILENO, text) || errno == EPIPE) return;
  throw UsageError(std::string("cannot write to standard output: ") + std::strerror(errno));
}

void print_error(std::string_view message) {
  std::string line = "lockstep: " + std::string(message);
  for (char& letter : line) {
    if (letter == '\n') letter = ' ';
  }
  write_all(STDERR_FILENO, line + "\n");
}

void guard_standard_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest free descriptor is the missing one.
    if (::fcntl(descriptor, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
}

}  // namespace lockstep::matrix
