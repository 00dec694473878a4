// In-process on fibers and on threads, on the CPU and on a GPU, Gloo and NCCL; layouts of the
// worlds.
#include "tests/backends/conformance/backends.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>

#include "backends/gloo/transport.h"
#include "core/base/errors.h"
#include "core/comm/call_rules.h"
#include "core/tensor/cuda/gpu.h"
#include "tests/support/gloo_ranks.h"
#include "tests/support/nccl_ranks.h"
#include "tests/support/planned_ranks.h"

namespace lockstep::test {
namespace {

RunOutcome run_in_process(const Layout& layout,
                          const RankProgram& program,
                          const sim::ClusterOptions& options) {
  const sim::ClusterReport report = spawn_ranks(layout, program, options);
  return {.findings = report.findings,
          .num_calls = report.num_calls,
          .num_matched = report.num_matched};
}

RunOutcome outcome_of(const backends::TrialOutcome& outcome) {
  return {.findings = outcome.findings,
          .num_calls = outcome.num_calls,
          .num_matched = outcome.num_matched};
}

TestedBackend in_process(const std::string& name, const sim::ClusterOptions& options) {
  return {.name = name, .run = [options](const Layout& layout, const RankProgram& program) {
            return run_in_process(layout, program, options);
          }};
}

// All ranks on the first GPU.
TestedBackend in_process_on_gpu(const std::string& name, const sim::ClusterOptions& options) {
  return {.name = name,
          .absent = why_no_cuda(),
          .on_gpu = true,
          .coverage = Coverage::kThinnedBy4,
          .run = [options](const Layout& layout, const RankProgram& program) {
            Gpu gpu(0);
            sim::ClusterOptions on_it = options;
            on_it.gpu = &gpu;
            return run_in_process(layout, program, on_it);
          }};
}

// On threads: of each rank its own line to a coordinator and its own connections, as of a process.
TestedBackend gloo() {
  return {.name = "gloo",
          .absent = backends::why_no_gloo(),
          .coverage = Coverage::kThinnedBy4,
          .run = [](const Layout& layout, const RankProgram& program) {
            return outcome_of(run_gloo_ranks(layout, program));
          }};
}

// What NCCL is asked for, carried out by loops: no GPU is needed to see what plans come to.
TestedBackend nccl_plans() {
  return {.name = "nccl_plans",
          .coverage = Coverage::kFull,
          .run = [](const Layout& layout, const RankProgram& program) {
            return outcome_of(run_planned_ranks(layout, program));
          }};
}

// On threads that share the GPUs. `absent`: why they cannot.
TestedBackend nccl(const std::string& absent) {
  const auto gpus = std::make_shared<std::optional<SeenGpus>>();
  return {.name = "nccl",
          .absent = absent,
          .on_gpu = true,
          .coverage = Coverage::kThinnedBy4,
          .run = [gpus](const Layout& layout, const RankProgram& program) {
            if (!*gpus) gpus->emplace();
            return outcome_of(run_nccl_ranks(layout, program, {.gpus = &**gpus}));
          }};
}

}  // namespace

void PrintTo(const TestedBackend& backend, std::ostream* out) { *out << backend.name; }

std::vector<TestedBackend> known_backends() {
  using sim::RankHost;
  // Before anything else uses CUDA.
  const std::string why_no_nccl = prepare_nccl_ranks();
  return {in_process("fibers", {.host = RankHost::kFibers}),
          in_process("threads", {.host = RankHost::kThreads}),
          in_process("fibers_tree_late",
                     {.host = RankHost::kFibers,
                      .reduction_order = ReductionOrder::kTree,
                      .completion = Completion::kLate,
                      .schedule_seed = 1}),
          in_process("threads_ring_seeded",
                     {.host = RankHost::kThreads,
                      .reduction_order = ReductionOrder::kRing,
                      .completion = Completion::kSeeded,
                      .schedule_seed = 2}),
          gloo(),
          nccl_plans(),
          nccl(why_no_nccl),
          in_process_on_gpu("inproc_cuda", {.host = RankHost::kFibers}),
          in_process_on_gpu("inproc_cuda_tree_late",
                            {.host = RankHost::kFibers,
                             .reduction_order = ReductionOrder::kTree,
                             .completion = Completion::kLate,
                             .schedule_seed = 1}),
          in_process_on_gpu("inproc_cuda_threads_ring_seeded",
                            {.host = RankHost::kThreads,
                             .reduction_order = ReductionOrder::kRing,
                             .completion = Completion::kSeeded,
                             .schedule_seed = 2})};
}

std::vector<Capability> capabilities_of(const TestedBackend& backend) {
  std::vector<Capability> capabilities;
  for (const CollectiveKind kind : {CollectiveKind::kAllReduce,
                                    CollectiveKind::kReduceScatter,
                                    CollectiveKind::kAllGather,
                                    CollectiveKind::kAllToAll,
                                    CollectiveKind::kBroadcast,
                                    CollectiveKind::kSend,
                                    CollectiveKind::kRecv}) {
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax}) {
      if (op != ReduceOp::kSum && !reduces(kind)) continue;
      for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kI64}) {
        capabilities.push_back({.type = {.kind = kind, .dtype = dtype, .op = op}, .support = {}});
      }
    }
  }
  capabilities.push_back({.type = {.kind = CollectiveKind::kBarrier}, .support = {}});
  const RunOutcome outcome = backend.run(layout_of_world(1), [&](TestRank& r) {
    for (Capability& row : capabilities) row.support = r.transport.supports(row.type);
  });
  LOCKSTEP_CHECK(outcome.findings.empty(),
                 "a rank that only asks what is supported: " + outcome.findings.front().message);
  return capabilities;
}

std::string to_text(const CallType& type) {
  std::string text(name_of(type.kind));
  if (type.kind == CollectiveKind::kBarrier) return text;
  text += fmt::format(" {}", name_of(type.dtype));
  return reduces(type.kind) ? fmt::format("{} {}", text, name_of(type.op)) : text;
}

bool can_do(const std::vector<Capability>& capabilities, const CallType& type) {
  const std::string wanted = to_text(type);
  const auto found =
      std::find_if(capabilities.begin(), capabilities.end(), [&](const Capability& row) {
        return to_text(row.type) == wanted;
      });
  LOCKSTEP_CHECK(found != capabilities.end(), "no capability is told of " + wanted);
  return found->support.kind != SupportKind::kNone;
}

Layout layout_of_world(int world) {
  switch (world) {
    case 4:
      return layout_of({.tp = 2, .dp = 2});
    case 6:
      return layout_of({.tp = 2, .dp = 3});
    case 8:
      return layout_of({.tp = 2, .dp = 2, .pp = 2});
    default:
      return layout_of({.pp = world});
  }
}

std::vector<GroupKind> group_kinds_of_world(int world) {
  switch (world) {
    case 1:
      return {GroupKind::kWorld};
    case 2:
      return {GroupKind::kWorld, GroupKind::kTp};  // of one rank each
    case 4:
    case 6:
      return {GroupKind::kWorld, GroupKind::kTp, GroupKind::kDp};
    case 8:
      return {
          GroupKind::kWorld, GroupKind::kTp, GroupKind::kDp, GroupKind::kTpDp, GroupKind::kModel};
    default:
      return {GroupKind::kWorld, GroupKind::kEmbedding};
  }
}

}  // namespace lockstep::test
