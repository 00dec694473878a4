// Defects' drops and communicators of one rank, then its training.
#include "simulator/runtime/rank_program.h"

#include "core/base/digest.h"
#include "core/train/trainer.h"
#include "simulator/defects/dropping_transport.h"

namespace lockstep::sim {

// What stands between the training program and the backend, in one order: program, defects' drops,
// backend.
void run_rank_program(const RankProgram& program, Transport& transport, RankResult& result) {
  DroppingTransport dropping(transport, program.setup.dropped_calls);
  const Communicators communicators(dropping, program.mesh, program.rank);
  const RankContext context{.rank = program.rank,
                            .mesh = program.mesh,
                            .ops = {.device = program.device,
                                    .kernels = program.setup.kernels,
                                    .dtype = program.setup.dtype},
                            .communicators = communicators,
                            .mappings = program.setup.plans.mappings};
  train(context, program.c, program.setup.plans, result);
}

std::string digest_of(const std::vector<RankResult>& ranks) {
  Digest digest;
  for (const RankResult& rank : ranks) {
    digest.add(static_cast<std::uint64_t>(rank.steps.size()));
    for (const StepResult& step : rank.steps) {
      for (const Shard& shard : step.gradients) digest.add(shard.values);
      for (const Shard& shard : step.parameters) digest.add(shard.values);
      // Of a run without backward passes there is nothing else.
      if (!step.gradients.empty()) continue;
      digest.add(std::vector{step.loss, step.reported_loss});
      for (const MicroBatchLoss& loss : step.losses) {
        digest.add(std::vector{loss.loss_sum, static_cast<double>(loss.targets)});
        for (const Shard& shard : loss.activations) digest.add(shard.values);
      }
    }
  }
  return digest.hex();
}

}  // namespace lockstep::sim
