// The event loop over the workers' pipes, clocks and the user's interrupts; the one file that sees
// Boost.Asio.
#include "matrix/sweep/worker_pool.h"

// Boost.Asio 1.74 in C++20 needs std::exchange declared before it.
#include <utility>
//
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <csignal>
#include <memory>

#include "matrix/sweep/last_words.h"
#include "matrix/sweep/worker_loop.h"
#include "matrix/sweep/worker_process.h"

namespace lockstep::matrix {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Kind = WorkerAnswer::Kind;

constexpr std::chrono::milliseconds kTick{200};

// A started process with its pipes. Shared with the handlers in flight, which must not touch a
// slot whose process was replaced meanwhile.
struct Process {
  Process(asio::io_context& loop, const StartedProcess& started)
      : pid(started.pid),
        requests(loop, started.requests),
        answers(loop, started.answers),
        words(loop, started.words) {}

  pid_t pid;
  asio::posix::stream_descriptor requests;
  asio::posix::stream_descriptor answers;
  asio::posix::stream_descriptor words;
  std::string request_text;
  std::string answer_text;
  std::array<char, 4096> words_chunk;
  LastWords last_words;
};

using ProcessPointer = std::shared_ptr<Process>;

struct Slot {
  explicit Slot(asio::io_context& loop) : alarm(loop) {}

  ProcessPointer process;  // none before its first case and after a crash or a hang
  std::optional<std::size_t> index;
  std::size_t num_given = 0;  // cases so far: an alarm belongs to one of them
  Clock::time_point started;
  asio::steady_timer alarm;
};

class Pool {
 public:
  Pool(const WorkerPoolOptions& options, const WorkerPoolHooks& hooks)
      : options_(options), hooks_(hooks), signals_(loop_, SIGINT, SIGTERM, SIGHUP), ticker_(loop_) {
    for (std::size_t i = 0; i < options.num_workers; ++i) {
      slots_.push_back(std::make_unique<Slot>(loop_));
    }
  }

  ~Pool() {
    for (const auto& slot : slots_) {
      if (slot->process) end_process(slot->process->pid);
    }
  }

  PoolEnd run() {
    signals_.async_wait([this](const error_code& error, int) {
      if (error) return;
      end_ = PoolEnd::kInterrupted;
      loop_.stop();
    });
    tick();
    for (std::size_t worker = 0; worker < slots_.size(); ++worker) give_next(worker);
    stop_when_idle();
    loop_.run();
    return end_;
  }

 private:
  void tick() {
    hooks_.tick();
    ticker_.expires_after(kTick);
    ticker_.async_wait([this](const error_code& error) {
      if (!error) tick();
    });
  }

  void stop_when_idle() {
    for (const auto& slot : slots_) {
      if (slot->index) return;
    }
    loop_.stop();
  }

  void give_next(std::size_t worker) {
    Slot& slot = *slots_[worker];
    slot.index = hooks_.next(worker);
    if (!slot.index) return;
    if (!slot.process) start(worker);
    slot.started = Clock::now();
    slot.alarm.expires_after(std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(options_.timeout_s)));
    // An alarm that went off as its case's answer came must not end the next case.
    const std::size_t number = ++slot.num_given;
    slot.alarm.async_wait([this, worker, number](const error_code& error) {
      const Slot& then = *slots_[worker];
      if (!error && then.index && then.num_given == number) on_alarm(worker);
    });
    const ProcessPointer process = slot.process;
    process->last_words.clear();
    process->request_text = hooks_.request(*slot.index) + "\n";
    // A worker that does not read has died: its answers' end tells that.
    asio::async_write(process->requests,
                      asio::buffer(process->request_text),
                      [process](const error_code&, std::size_t) {});
  }

  void start(std::size_t worker) {
    const StartedProcess started = start_process(options_.command);
    slots_[worker]->process = std::make_shared<Process>(loop_, started);
    slots_[worker]->process->words.non_blocking(true);
    read_answer(worker, slots_[worker]->process);
    read_words(slots_[worker]->process);
  }

  // Not so for late handlers of a replaced process, and for one that has nothing left to do.
  bool owns(std::size_t worker, const ProcessPointer& process) const {
    return slots_[worker]->process == process && slots_[worker]->index.has_value();
  }

  void read_answer(std::size_t worker, const ProcessPointer& process) {
    asio::async_read_until(process->answers,
                           asio::dynamic_buffer(process->answer_text),
                           '\n',
                           [this, worker, process](const error_code& error, std::size_t num_bytes) {
                             if (!owns(worker, process)) return;
                             if (error) {
                               on_end(worker);
                             } else {
                               on_line(worker, num_bytes);
                             }
                           });
  }

  void read_words(const ProcessPointer& process) {
    process->words.async_wait(asio::posix::stream_descriptor::wait_read,
                              [this, process](const error_code& error) {
                                if (!error && drain_words(*process)) read_words(process);
                              });
  }

  // Reads what is there without waiting; false at the stream's end.
  static bool drain_words(Process& process) {
    error_code error;
    while (!error) {
      const std::size_t num_bytes =
          process.words.read_some(asio::buffer(process.words_chunk), error);
      process.last_words.add({process.words_chunk.data(), num_bytes});
    }
    return error == asio::error::would_block;
  }

  void on_line(std::size_t worker, std::size_t num_bytes) {
    const ProcessPointer process = slots_[worker]->process;
    std::string line = process->answer_text.substr(0, num_bytes - 1);
    process->answer_text.erase(0, num_bytes);
    const bool is_spent = line.starts_with(kSpentMark);
    if (is_spent) line.erase(0, kSpentMark.size());
    const bool is_of_use = finish(worker, Kind::kLine, line) && !is_spent;
    if (!is_of_use) replace(worker);
    give_next(worker);
    if (is_of_use) read_answer(worker, process);
    stop_when_idle();
  }

  void on_end(std::size_t worker) {
    const ProcessPointer process = slots_[worker]->process;
    const std::string how = replace(worker);
    drain_words(*process);
    const std::string words = process->last_words.text();
    finish(worker, Kind::kCrash, words.empty() ? how : how + ": " + words);
    give_next(worker);
    stop_when_idle();
  }

  void on_alarm(std::size_t worker) {
    const ProcessPointer process = slots_[worker]->process;
    replace(worker);
    drain_words(*process);
    finish(worker, Kind::kTimeout, process->last_words.text());
    give_next(worker);
    stop_when_idle();
  }

  // Ends the slot's process; the next case starts another one.
  std::string replace(std::size_t worker) {
    const ProcessPointer process = std::exchange(slots_[worker]->process, nullptr);
    std::string how = end_process(process->pid);
    error_code ignored;
    process->requests.close(ignored);
    process->answers.close(ignored);
    return how;
  }

  bool finish(std::size_t worker, Kind kind, const std::string& text) {
    Slot& slot = *slots_[worker];
    slot.alarm.cancel();
    const std::chrono::duration<double> seconds = Clock::now() - slot.started;
    const std::size_t index = *std::exchange(slot.index, std::nullopt);
    return hooks_.done(index, WorkerAnswer{.kind = kind, .text = text, .seconds = seconds.count()});
  }

  const WorkerPoolOptions& options_;
  const WorkerPoolHooks& hooks_;
  asio::io_context loop_;
  asio::signal_set signals_;
  asio::steady_timer ticker_;
  std::vector<std::unique_ptr<Slot>> slots_;
  PoolEnd end_ = PoolEnd::kFinished;
};

}  // namespace

PoolEnd run_worker_pool(const WorkerPoolOptions& options, const WorkerPoolHooks& hooks) {
  try {
    return Pool(options, hooks).run();
  } catch (const boost::system::system_error& error) {
    // The machine lacks descriptors or memory for the loop itself.
    throw LaunchError(std::string("cannot watch over workers: ") + error.what());
  }
}

}  // namespace lockstep::matrix
