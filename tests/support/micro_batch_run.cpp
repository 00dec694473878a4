// Decoders on ranks, and their shards assembled.
#include "tests/support/micro_batch_run.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "core/config/rules.h"
#include "core/ops/host.h"
#include "core/snapshot/assemble.h"
#include "core/train/step_snapshot.h"
#include "tests/core/autograd/recording_sink.h"
#include "tests/support/rank_fixture.h"

namespace lockstep::test {
namespace {

struct RankRun {
  double loss_sum = 0.0;
  std::int64_t targets = 0;
  std::vector<Shard> activations;
  std::vector<Shard> gradients;
};

RankRun run_on(const RankContext& context,
               const Case& c,
               const Plans& plans,
               const MicroBatchOptions& options) {
  const OpContext& ops = context.ops;
  const Parameters parameters(ops, plans.table);
  const OptimizerState state(ops, plans.update.state, parameters);
  initialise(context, plans.init, plans.table, state);
  const AttentionPlans attention{
      .heads = plans.heads, .context = plans.context, .dropout = plans.dropout};
  const Decoder decoder(context,
                        {.c = c,
                         .parameters = {plans.table, parameters},
                         .attention = attention,
                         .cross_entropy = plans.cross_entropy});
  const BatchMaker batches(context, c, plans.batch, attention);
  MicroBatch batch = batches.micro_batch(options.id);
  options.edit_batch(context, batch);

  Tape tape(ops);
  RecordingSink sink(ops);
  std::vector<Tensor> trace;
  const Variable loss = decoder.loss_sum(context, tape, batch, trace);
  const std::array gradient{options.loss_gradient(batch)};
  const Tensor seed = reals_from_host(ops, loss.value.dtype, gradient, {1}, "test.seed");
  tape.backward({&loss, 1}, {&seed, 1}, {}, sink);

  std::vector<Tensor> gradients;
  for (std::size_t i = 0; i < plans.table.size(); ++i) {
    gradients.push_back(sink.gradients.at(static_cast<int>(i)));
  }
  const StepSnapshot snapshot(context, plans.table, plans.activations);
  return {.loss_sum = values_of(loss.value)[0],
          .targets = batch.targets,
          .activations = snapshot.of_activations(trace, batches.rows(options.id)),
          .gradients = snapshot.of_parameters(SnapshotKind::kGradient, gradients)};
}

std::vector<double> assembled(const std::vector<Shard>& shards) {
  std::vector<RankShard> held;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    held.push_back({.rank = {static_cast<int>(i)}, .shard = &shards[i]});
  }
  Assembly assembly = assemble(held);
  EXPECT_EQ(assembly.problem, "") << shards.at(0).name;
  return std::move(assembly.values);
}

// Ranks of a replica are in the order of the mesh: tp fastest, then cp.
std::vector<double> full_gradient(const ParameterSpec& spec,
                                  const Layout& layout,
                                  const std::vector<RankRun>& ranks,
                                  std::size_t parameter) {
  const bool is_sum = spec.gradient_on(Axis::kTp) == PlacementKind::kPartial;
  const auto tp = static_cast<std::size_t>(layout.tp);
  std::vector<Shard> shards;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const Shard& own = ranks[r].gradients.at(parameter);
    const std::size_t slot = is_sum ? 0 : r % tp;
    if (slot == shards.size()) {
      shards.push_back(own);
      continue;
    }
    std::vector<double>& sum = shards[slot].values;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += own.values[i];
  }
  return assembled(shards);
}

MicroBatchRun put_together(const Case& c, const Plans& plans, const std::vector<RankRun>& ranks) {
  MicroBatchRun run;
  for (const RankRun& rank : ranks) {
    run.loss_sums.push_back(rank.loss_sum);
    run.targets.push_back(rank.targets);
  }
  for (std::size_t i = 0; i < plans.activations.size(); ++i) {
    std::vector<Shard> shards;
    for (const RankRun& rank : ranks) shards.push_back(rank.activations.at(i));
    run.activations.push_back(assembled(shards));
  }
  for (std::size_t i = 0; i < plans.table.size(); ++i) {
    run.gradients.push_back(full_gradient(plans.table[i], c.layout, ranks, i));
  }
  return run;
}

}  // namespace

double MicroBatchRun::loss_sum(const Layout& layout) const {
  double sum = 0.0;
  for (std::size_t r = 0; r < loss_sums.size(); r += static_cast<std::size_t>(layout.tp)) {
    sum += loss_sums[r];
  }
  return sum;
}

std::int64_t MicroBatchRun::num_targets(const Layout& layout) const {
  std::int64_t sum = 0;
  for (std::size_t r = 0; r < targets.size(); r += static_cast<std::size_t>(layout.tp)) {
    sum += targets[r];
  }
  return sum;
}

MicroBatchRun run_micro_batch(const Case& c, const MicroBatchOptions& options) {
  EXPECT_EQ(why_invalid(c).value_or(""), "");
  Plans plans = make_plans(c);
  options.edit(plans);
  std::vector<RankRun> ranks(static_cast<std::size_t>(c.layout.tp * c.layout.cp));
  const auto report = spawn_contexts(c.layout, [&](const RankContext& context) {
    const RankContext own{.rank = context.rank,
                          .mesh = context.mesh,
                          .ops = context.ops,
                          .communicators = context.communicators,
                          .mappings = plans.mappings};
    RankRun run = run_on(own, c, plans, options);
    const std::int64_t first = world_size(c.layout) - c.layout.tp * c.layout.cp;
    if (context.rank.value < first) return;
    ranks[static_cast<std::size_t>(context.rank.value - first)] = std::move(run);
  });
  EXPECT_TRUE(report.findings.empty()) << to_text(report);
  if (!report.findings.empty()) return {};
  return put_together(c, plans, ranks);
}

}  // namespace lockstep::test
