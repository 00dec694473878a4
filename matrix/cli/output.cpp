// Plain write(2) to the standard streams.
#include "matrix/cli/output.h"

#include <fcntl.h>
#include <sys/ioctl.h>
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

std::string error_line(std::string_view message) {
  constexpr std::size_t kHead = 700;
  constexpr std::size_t kTail = 200;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(message);
  // What is wrong stands at either end; between them is what the user gave.
  if (text.size() > kHead + kTail) {
    text = text.substr(0, kHead) + " [...] " + text.substr(text.size() - kTail);
  }
  std::string line = "lockstep: ";
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '\n') {
      line += ' ';
    } else if (byte < 0x20 || byte == 0x7f) {
      line += std::string("\\x") + kDigits[byte >> 4U] + kDigits[byte & 15U];
    } else {
      line += letter;
    }
  }
  return line + "\n";
}

void print_error(std::string_view message) { write_all(STDERR_FILENO, error_line(message)); }

std::size_t terminal_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 0 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

void guard_standard_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest free descriptor is the missing one.
    if (::fcntl(descriptor, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
}

}  // namespace lockstep::matrix
