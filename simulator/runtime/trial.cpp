// A trial: a setup edited by the case's defects, run on every rank.
#include "simulator/runtime/trial.h"

#include "core/base/digest.h"
#include "core/tensor/cpu_device.h"
#include "core/train/trainer.h"
#include "simulator/defects/defect.h"
#include "simulator/defects/dropping_transport.h"
#include "simulator/defects/trial_setup.h"

namespace lockstep::sim {
namespace {

// What stands between the training program and the backend on one rank, in one order: program,
// defects' drops, backend.
void run_rank(
    RankSeat& seat, const Mesh& mesh, const Case& c, const TrialSetup& setup, RankResult& result) {
  CpuDevice device;
  DroppingTransport transport(seat.transport, setup.dropped_calls);
  const Communicators communicators(transport, mesh, seat.rank);
  const RankContext context{
      .rank = seat.rank,
      .mesh = mesh,
      .ops = {.device = device, .kernels = setup.kernels, .dtype = setup.dtype},
      .communicators = communicators,
      .mappings = setup.plans.mappings};
  train(context, c, setup.plans, result);
}

std::string digest_of(const std::vector<RankResult>& ranks) {
  Digest digest;
  for (const RankResult& rank : ranks) {
    digest.add(static_cast<std::uint64_t>(rank.steps.size()));
    for (const StepResult& step : rank.steps) {
      for (const Shard& shard : step.gradients) digest.add(shard.values);
      for (const Shard& shard : step.parameters) digest.add(shard.values);
    }
  }
  return digest.hex();
}

}  // namespace

std::optional<std::string> why_unfinished(const ClusterReport& report) {
  for (const backends::Finding& finding : report.findings) {
    switch (finding.kind) {
      case backends::FindingKind::kRankError:
      case backends::FindingKind::kMismatch:
      case backends::FindingKind::kDeadlock:
        return finding.message;
      case backends::FindingKind::kPending:
        break;
    }
  }
  return std::nullopt;
}

TrialResult run_trial(const Case& c, const TrialOptions& options) {
  const Mesh mesh(c.layout);
  const TrialSetup setup = make_edited_setup(c);
  TrialResult trial{.c = c,
                    .ranks = std::vector<RankResult>(static_cast<std::size_t>(mesh.world())),
                    .cluster = {},
                    .digest = {}};
  const ClusterOptions cluster{.host = options.host,
                               .reduction_order = c.recipe.reduction_order,
                               .completion = c.recipe.completion,
                               .schedule_seed = static_cast<std::uint64_t>(c.recipe.schedule_seed)};
  trial.cluster = run_cluster(mesh, cluster, [&](RankSeat& seat) {
    run_rank(seat, mesh, c, setup, trial.ranks[static_cast<std::size_t>(seat.rank.value)]);
  });
  trial.digest = digest_of(trial.ranks);
  return trial;
}

}  // namespace lockstep::sim
