// Puts a runner and the in-process backend together; the root under which every rank runs.
#include "simulator/runtime/cluster.h"

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <typeinfo>

#include "backends/inprocess/rendezvous.h"
#include "core/base/errors.h"
#include "core/tensor/cpu_device.h"
#include "simulator/runtime/rank_runner.h"

namespace lockstep::sim {
namespace {

std::string current_exception_type() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return "unknown";
  int status = 0;
  char* readable = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? readable : type->name();
  std::free(readable);
  return name;
}

std::unique_ptr<RankRunner> make_runner(const ClusterOptions& options) {
  switch (options.host) {
    case RankHost::kFibers:
      return make_fiber_runner(options.schedule_seed);
    case RankHost::kThreads:
      return make_thread_runner();
  }
  throw InternalError("unknown host of ranks");
}

enum class RankEnd { kReturned, kCancelled, kThrew };

struct RankOutcome {
  RankEnd end = RankEnd::kReturned;
  std::string error;
};

RankOutcome run_rank(Rank rank,
                     Transport& transport,
                     const std::function<void(RankSeat&)>& program) {
  CpuDevice device;
  RankSeat seat{.rank = rank, .transport = transport, .device = device};
  try {
    program(seat);
    return {};
  } catch (const RankCancelled&) {
    return {.end = RankEnd::kCancelled, .error = {}};
  } catch (const std::exception& error) {
    return {.end = RankEnd::kThrew, .error = error.what()};
  } catch (...) {  // the root of a rank: nothing a program throws may go further
    return {
        .end = RankEnd::kThrew,
        .error = "an object of type " + current_exception_type() + ", which is no std::exception"};
  }
}

}  // namespace

ClusterReport run_cluster(const Mesh& mesh,
                          const ClusterOptions& options,
                          const std::function<void(RankSeat&)>& program) {
  const std::unique_ptr<RankRunner> runner = make_runner(options);
  backends::Rendezvous rendezvous(mesh,
                                  {.reduction_order = options.reduction_order,
                                   .completion = options.completion,
                                   .schedule_seed = options.schedule_seed},
                                  *runner);
  runner->run(mesh.world(),
              {.body =
                   [&](Rank rank) {
                     RankOutcome outcome = run_rank(rank, rendezvous, program);
                     switch (outcome.end) {
                       case RankEnd::kReturned:
                         return rendezvous.rank_returned(rank);
                       case RankEnd::kCancelled:
                         return rendezvous.rank_cancelled(rank);
                       case RankEnd::kThrew:
                         return rendezvous.rank_threw(rank, std::move(outcome.error));
                     }
                   },
               .all_wait = [&] { rendezvous.all_wait(); }});
  return {.findings = rendezvous.findings(),
          .num_calls = rendezvous.num_calls(),
          .num_matched = rendezvous.num_matched()};
}

}  // namespace lockstep::sim
