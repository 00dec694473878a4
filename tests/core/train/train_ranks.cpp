// Training runs on simulated ranks.
#include "tests/core/train/train_ranks.h"

#include <gtest/gtest.h>

#include <array>

#include "core/base/digest.h"
#include "tests/support/rank_fixture.h"

namespace lockstep::test {
namespace {

void add(Digest& digest, const std::vector<Shard>& shards) {
  digest.add(static_cast<std::uint64_t>(shards.size()));
  for (const Shard& shard : shards) digest.add(shard.values);
}

void add(Digest& digest, const StepResult& step) {
  for (const MicroBatchLoss& loss : step.losses) {
    digest.add(std::array{loss.loss_sum, static_cast<double>(loss.targets)});
    add(digest, loss.activations);
  }
  digest.add(std::array{step.loss,
                        step.reported_loss,
                        static_cast<double>(step.reported_targets),
                        step.gradient_norm,
                        static_cast<double>(step.gradient_zeros),
                        step.parameter_norm});
  for (const auto* shards : {&step.gradients,
                             &step.clipped_gradients,
                             &step.parameters,
                             &step.masters,
                             &step.exp_avg,
                             &step.exp_avg_sq}) {
    add(digest, *shards);
  }
}

}  // namespace

sim::ClusterReport on_each_rank(
    const Case& c, const std::function<void(const RankContext&, const Plans&)>& program) {
  const Plans plans = make_plans(c);
  return spawn_contexts(
      c.layout,
      [&](const RankContext& context) {
        const RankContext own{.rank = context.rank,
                              .mesh = context.mesh,
                              .ops = {.device = context.ops.device,
                                      .kernels = context.ops.kernels,
                                      .dtype = dtype_of(c.recipe.dtype)},
                              .communicators = context.communicators,
                              .mappings = context.mappings};
        program(own, plans);
      },
      {.reduction_order = c.recipe.reduction_order, .completion = c.recipe.completion});
}

std::vector<RankResult> train_ranks(const Case& c) {
  std::vector<RankResult> ranks(static_cast<std::size_t>(world_size(c.layout)));
  const auto report = on_each_rank(c, [&](const RankContext& context, const Plans& plans) {
    train(context, c, plans, ranks[static_cast<std::size_t>(context.rank.value)]);
  });
  EXPECT_TRUE(report.findings.empty()) << to_text(report);
  return ranks;
}

std::string digest_of(const std::vector<RankResult>& ranks) {
  Digest digest;
  for (const RankResult& rank : ranks) {
    for (const StepResult& step : rank.steps) add(digest, step);
    for (const ProbeResult& probe : rank.probes) {
      digest.add(std::array{probe.value});
    }
  }
  return digest.hex();
}

}  // namespace lockstep::test
