// Long-lived worker processes that run cases side by side: a crash or a hang costs one case.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep::matrix {

// A worker could not be started at all.
class LaunchError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct WorkerPoolOptions {
  // Program and arguments of a worker. One whose answer begins with kSpentMark (worker_loop.h) is
  // replaced.
  std::vector<std::string> command;
  std::size_t num_workers = 1;
  double timeout_s = 60.0;  // of one case; then its worker is killed and another one started
};

// What became of a case that was handed to a worker.
struct WorkerAnswer {
  enum class Kind { kLine, kCrash, kTimeout };
  Kind kind = Kind::kLine;
  std::string text;  // the line; of a crash how it ended; of a timeout the last words on stderr
  double seconds = 0.0;
};

struct WorkerPoolHooks {
  // The next case for a worker, by index; none: that worker is done.
  std::function<std::optional<std::size_t>(std::size_t worker)> next;
  std::function<std::string(std::size_t index)> request;  // its line, without the line's end
  // False: the answer cannot be trusted, the worker is replaced.
  std::function<bool(std::size_t index, const WorkerAnswer& answer)> done;
  std::function<void()> tick;  // a few times a second
};

enum class PoolEnd { kFinished, kInterrupted };

// Returns when nothing is left to run, or on SIGINT, SIGTERM or SIGHUP. No worker outlives it.
// Exceptions of the hooks end it as well. LaunchError where a worker cannot be started.
PoolEnd run_worker_pool(const WorkerPoolOptions& options, const WorkerPoolHooks& hooks);

}  // namespace lockstep::matrix
