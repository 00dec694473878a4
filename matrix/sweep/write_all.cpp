// write(2) until nothing is left.
#include "matrix/sweep/write_all.h"

#include <unistd.h>

#include <cerrno>

namespace lockstep::matrix {

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace lockstep::matrix
