// Opens without waiting, so that a pipe without a writer ends at once, and reads up to the limit.
#include "core/config/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/errors.h"

namespace lockstep {
namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// Bytes read; 0 at the end, -1 with errno set. Waits for a pipe's writer, where there is one.
ssize_t read_some(int descriptor, char* into, std::size_t num_bytes) {
  while (true) {
    const ssize_t got = ::read(descriptor, into, num_bytes);
    if (got >= 0 || (errno != EAGAIN && errno != EINTR)) return got;
    pollfd ready{.fd = descriptor, .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, -1);
  }
}

}  // namespace

std::string read_text_file(const std::string& path, std::size_t max_bytes) {
  const auto refuse = [&](const std::string& why) { throw UsageError(path + ": " + why); };
  if (path.empty()) throw UsageError("a file is needed, got an empty path");
  const OpenFile file(path);
  if (file.descriptor() < 0) {
    refuse(errno == ENOENT ? "no such file"
                           : fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  struct stat status {};
  ::fstat(file.descriptor(), &status);
  if (S_ISDIR(status.st_mode)) refuse("is a folder; name a file");
  std::string text;
  std::string chunk(std::min<std::size_t>(max_bytes + 1, 65536), '\0');
  while (true) {
    const ssize_t got = read_some(file.descriptor(), chunk.data(), chunk.size());
    if (got < 0) refuse(fmt::format("cannot be read: {}", std::strerror(errno)));
    if (got == 0) break;
    text.append(chunk, 0, static_cast<std::size_t>(got));
    if (text.size() > max_bytes) refuse(fmt::format("is larger than {} bytes", max_bytes));
  }
  if (text.empty() && S_ISFIFO(status.st_mode)) refuse("is a pipe that nobody writes to");
  return text;
}

}  // namespace lockstep
