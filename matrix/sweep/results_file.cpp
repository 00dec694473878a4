// Appends whole lines with one write each; replaces files by renaming a finished one over them.
#include "matrix/sweep/results_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/base/errors.h"
#include "matrix/sweep/write_all.h"

namespace lockstep::matrix {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UsageError("cannot write to " + path + ": " + why +
                   "; name a folder that can be written with --out");
}

int create(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) refuse(path, std::strerror(errno));
  return file;
}

void rename_over(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) refuse(to, std::strerror(errno));
}

// Lines that end; what follows the last end of a line is torn.
std::vector<std::string> whole_lines(const std::string& path, std::size_t& num_dropped) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> lines;
  std::string line;
  while (std::getline(file, line)) {
    if (file.eof()) {
      ++num_dropped;
    } else {
      lines.push_back(line);
    }
  }
  return lines;
}

bool is_kept(const std::string& line, const std::function<bool(const CaseResult&)>& keep) {
  try {
    return keep(result_from_json(line));
  } catch (const UsageError&) {
    return false;
  }
}

}  // namespace

ResultsFile::ResultsFile(const std::string& folder) : folder_(folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) refuse(folder, error.message());
  lock_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) refuse(folder, std::strerror(errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    const std::string why =
        errno == EWOULDBLOCK ? "another sweep writes there" : std::strerror(errno);
    ::close(lock_);
    refuse(folder, why);
  }
  const std::string trial = folder_ + "/results.jsonl.new";
  const int file = ::open(trial.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  const int reason = errno;
  std::error_code ignored;
  const bool in_the_way = std::filesystem::exists(path(), ignored) &&
                          !std::filesystem::is_regular_file(path(), ignored);
  if (file < 0 || in_the_way) {
    ::close(lock_);
    if (file >= 0) ::close(file);
    refuse(file < 0 ? trial : path(), file < 0 ? std::strerror(reason) : "it is no regular file");
  }
  ::close(file);
  ::unlink(trial.c_str());
}

ResultsFile::~ResultsFile() {
  if (file_ >= 0) ::close(file_);
  ::close(lock_);
}

void ResultsFile::start_anew() { begin_with({}); }

std::size_t ResultsFile::resume(const std::function<bool(const CaseResult&)>& keep) {
  std::size_t num_dropped = 0;
  std::vector<std::string> kept;
  for (std::string& line : whole_lines(path(), num_dropped)) {
    if (is_kept(line, keep)) {
      kept.push_back(std::move(line));
    } else {
      ++num_dropped;
    }
  }
  begin_with(kept);
  return num_dropped;
}

void ResultsFile::begin_with(const std::vector<std::string>& lines) {
  const std::string fresh = path() + ".new";
  file_ = create(fresh);
  for (const std::string& line : lines) append(line);
  rename_over(fresh, path());
  // What was told of other results would lie beside these.
  std::error_code ignored;
  for (const char* name :
       {"summary.json", "first-failure.json", "mutation.json", "first-missed.json"}) {
    std::filesystem::remove(folder_ + "/" + name, ignored);
  }
}

void ResultsFile::append(std::string_view line) {
  if (!write_all(file_, std::string(line) + "\n")) refuse(path(), std::strerror(errno));
}

void ResultsFile::write_beside(const std::string& file_name, std::string_view text) const {
  const std::string target = folder_ + "/" + file_name;
  const std::string fresh = target + ".new";
  const int file = create(fresh);
  const bool written = write_all(file, text);
  const int reason = errno;
  ::close(file);
  if (!written) refuse(target, std::strerror(reason));
  rename_over(fresh, target);
}

}  // namespace lockstep::matrix
