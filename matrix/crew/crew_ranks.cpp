// One coordinator and one crew, kept as long as the runner is.
#include "matrix/crew/crew_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "core/config/case_json.h"
#include "core/config/rules.h"
#include "matrix/crew/crew.h"
#include "matrix/crew/launched_seats.h"
#include "matrix/crew/nccl_work.h"
#include "matrix/crew/orders.h"
#include "matrix/sweep/worker_pool.h"
#include "simulator/runtime/trial.h"

namespace lockstep::matrix {
namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr const char* kThisHost = "127.0.0.1";
// A trial may last half the time limit, and several followers be silent after it.
constexpr double kPatiencePart = 1.0 / 16.0;
constexpr Milliseconds kLongestPatience{20000};

Milliseconds milliseconds(double seconds) {
  return std::chrono::duration_cast<Milliseconds>(std::chrono::duration<double>(seconds));
}

struct CrewRanks {
  CrewRanks(const std::string& comm, SeatKind kind, const CrewRanksOptions& chosen)
      : options(chosen),
        coordinator({.listening = chosen.listening, .host = kThisHost}),
        seats(make_seats(comm, kind)),
        crew(coordinator, *seats, chosen.timeout_s) {}

  std::unique_ptr<Seats> make_seats(const std::string& comm, SeatKind kind) {
    const bool is_launched = options.num_processes > 0;
    std::vector<std::string> command = rank_words(comm,
                                                  options.program,
                                                  is_launched ? options.host : kThisHost,
                                                  coordinator.port(),
                                                  options.timeout_s);
    std::vector<std::string> words;
    if (options.share_gpus) words.emplace_back(kShareGpus);
    command.insert(command.end(), words.begin(), words.end());
    if (!is_launched) return make_local_seats(kind, command);
    auto seats_of_all = std::make_unique<LaunchedSeats>(
        coordinator,
        LaunchedSeats::Options{
            .kind = kind,
            .command = command,
            .followers_words = words,
            .num_processes = options.num_processes,
            .patience =
                std::min(kLongestPatience, milliseconds(options.timeout_s * kPatiencePart))});
    launched = seats_of_all.get();
    return seats_of_all;
  }

  CrewRanksOptions options;
  backends::Coordinator coordinator;
  LaunchedSeats* launched = nullptr;  // `seats`, where a launcher started the command
  std::unique_ptr<Seats> seats;
  Crew crew;
};

// The GPUs of all processes that hold ranks, as these tell when they come.
class Gpus {
 public:
  explicit Gpus(CrewRanks& ranks) : ranks_(ranks), ids_{ranks.options.gpus} {}

  // LaunchError where a process that holds a rank does not come.
  GpuPlan plan(int world) {
    const int num_processes = std::max(1, ranks_.options.num_processes);
    while (std::ssize(ids_) < std::min(world, num_processes)) ids_.push_back(ask(std::ssize(ids_)));
    return plan_gpus(world, {ids_.begin(), ids_.begin() + std::min(world, num_processes)});
  }

 private:
  std::vector<std::string> ask(std::ptrdiff_t process) {
    const double patience_s = ranks_.options.timeout_s / 2.0;
    const std::optional<std::string> arrival =
        ranks_.launched->arrival(static_cast<int>(process), milliseconds(patience_s));
    if (arrival) return words_from_text(*arrival);
    throw LaunchError(
        fmt::format("process {} of the launcher has not come within {:g} s", process, patience_s));
  }

  CrewRanks& ranks_;
  std::vector<std::vector<std::string>> ids_;  // by process, of the first ones
};

struct NcclRanks {
  explicit NcclRanks(const CrewRanksOptions& options)
      : ranks("nccl", SeatKind::kThreads, options), gpus(ranks) {}

  CrewRanks ranks;
  Gpus gpus;
};

int world_of(const Case& c) { return static_cast<int>(world_size(c.layout)); }

}  // namespace

std::vector<std::string> rank_words(const std::string& comm,
                                    const std::string& program,
                                    const std::string& host,
                                    int port,
                                    double timeout_s) {
  return {program,
          "rank",
          "--comm",
          comm,
          "--coordinator",
          fmt::format("{}:{}", host, port),
          "--timeout",
          fmt::format("{:g}", timeout_s)};
}

TrialRunner gloo_ranks(const CrewRanksOptions& options) {
  const auto ranks = std::make_shared<CrewRanks>("gloo", SeatKind::kProcesses, options);
  return {.comm = "gloo",
          .why_not = [](const Case& c) { return why_no_crew(c, "Gloo"); },
          .run = [ranks](const Case& c) { return ranks->crew.run(c, case_to_json(c)); }};
}

TrialRunner nccl_ranks(const CrewRanksOptions& options) {
  const auto nccl = std::make_shared<NcclRanks>(options);
  return {.comm = "nccl",
          .device = "cuda",
          .why_not = [nccl](const Case& c) -> std::optional<std::string> {
            if (auto why = why_no_crew(c, "NCCL")) return why;
            std::string why = why_too_crowded(nccl->gpus.plan(world_of(c)));
            return why.empty() ? std::nullopt : std::optional(std::move(why));
          },
          .run =
              [nccl](const Case& c) {
                const GpuPlan plan = nccl->gpus.plan(world_of(c));
                return nccl->ranks.crew.run(c, to_text(NcclRequest{.gpus = plan, .c = c}));
              }};
}

}  // namespace lockstep::matrix
