// A trial: a setup edited by the case's defects, run on every rank.
#include "simulator/runtime/trial.h"

#include "core/ops/cpu/kernels.h"
#include "core/ops/cuda/kernels.h"
#include "simulator/defects/defect.h"
#include "simulator/defects/trial_setup.h"
#include "simulator/runtime/rank_program.h"

namespace lockstep::sim {

std::optional<std::string> why_unfinished(const ClusterReport& report) {
  for (const backends::Finding& finding : report.findings) {
    switch (finding.kind) {
      case backends::FindingKind::kRankError:
      case backends::FindingKind::kMismatch:
      case backends::FindingKind::kLost:
      case backends::FindingKind::kStalled:
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
  const TrialSetup setup =
      make_edited_setup(c, options.gpu == nullptr ? cpu_kernels() : cuda_kernels());
  TrialResult trial{.c = c,
                    .ranks = std::vector<RankResult>(static_cast<std::size_t>(mesh.world())),
                    .cluster = {},
                    .digest = {}};
  const ClusterOptions cluster{.host = options.host,
                               .reduction_order = c.recipe.reduction_order,
                               .completion = c.recipe.completion,
                               .schedule_seed = static_cast<std::uint64_t>(c.recipe.schedule_seed),
                               .gpu = options.gpu};
  trial.cluster = run_cluster(mesh, cluster, [&](RankSeat& seat) {
    run_rank_program(
        {.rank = seat.rank, .mesh = mesh, .c = c, .setup = setup, .device = seat.device},
        seat.transport,
        trial.ranks[static_cast<std::size_t>(seat.rank.value)]);
  });
  trial.digest = digest_of(trial.ranks);
  return trial;
}

}  // namespace lockstep::sim
