// Shards of given values in; logits, loss and main gradients out.
#include "tests/goldens/run_core.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/base/errors.h"
#include "core/model/cross_entropy_plan.h"
#include "core/model/decoder.h"
#include "core/model/describe_model.h"
#include "core/ops/host.h"
#include "core/snapshot/assemble.h"
#include "core/snapshot/stretches.h"
#include "core/train/batch.h"
#include "core/train/gradient_buckets.h"
#include "tests/support/rank_fixture.h"

namespace lockstep::test {
namespace {

// Takes gradients from the backward pass to their buckets, as training without overlap does.
class BucketSink : public GradientSink {
 public:
  explicit BucketSink(const GradientBuckets& buckets) : buckets_(buckets) {}
  void accumulate(ParameterId parameter, const Tensor& gradient) override {
    buckets_.accumulate(parameter, gradient);
  }
  void finished(ParameterId) override {}

 private:
  const GradientBuckets& buckets_;
};

RankContext with_dtype(const RankContext& context, DType dtype) {
  return {.rank = context.rank,
          .mesh = context.mesh,
          .ops = {.device = context.ops.device, .kernels = context.ops.kernels, .dtype = dtype},
          .communicators = context.communicators,
          .mappings = context.mappings};
}

void write_parameters(const RankContext& context,
                      const ParameterTable& table,
                      const matrix::Tensors& values,
                      const Parameters& parameters) {
  LOCKSTEP_CHECK(values.size() == table.size(), "as many tensors as parameters are needed");
  for (std::size_t i = 0; i < table.size(); ++i) {
    LOCKSTEP_CHECK(values[i].name == table[i].name && values[i].shape == table[i].full_shape,
                   values[i].name + " is not the parameter " + table[i].name);
    Shard shard = shard_of(table[i], context.mesh, context.rank);
    fill_shard(shard, [&](std::int64_t full, std::span<double> local) {
      std::copy_n(values[i].values.begin() + full, local.size(), local.begin());
    });
    write_reals(
        context.ops, shard.values, parameters[{static_cast<int>(i)}].value, "test.parameters");
  }
}

// The full tensor of a shard that one rank holds alone: what its slice does not reach is padding.
sim::OracleTensor full_tensor(const RankContext& context, Shard shard, const Tensor& local) {
  shard.values = read_reals(context.ops, local, "test.read");
  const RankShard alone[] = {{.rank = context.rank, .shard = &shard}};
  Assembly full = assemble(alone);
  LOCKSTEP_CHECK(full.problem.empty(), shard.name + ": " + full.problem);
  return {.name = shard.name, .shape = shard.full_shape, .values = std::move(full.values)};
}

// Rows in the core's order: row s * micro_batch + b is token s of sample b.
MicroBatch micro_batch_of(const RankContext& context,
                          const Case& c,
                          const matrix::Batch& batch,
                          const SequenceTables& sequence) {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> labels;
  std::vector<double> weights;
  std::int64_t targets = 0;
  for (std::int64_t s = 0; s < c.recipe.seq; ++s) {
    for (std::int64_t b = 0; b < c.recipe.micro_batch; ++b) {
      const auto t = static_cast<std::size_t>(b * c.recipe.seq + s);
      ids.push_back(batch.inputs_T[t]);
      labels.push_back(batch.labels_T[t]);
      weights.push_back(batch.is_target_T[t] ? 1.0 : 0.0);
      targets += batch.is_target_T[t] ? 1 : 0;
    }
  }
  const OpContext& ops = context.ops;
  const Shape shape{static_cast<std::int64_t>(ids.size())};
  return {.ids_T = integers_from_host(ops, ids, shape, "test.ids"),
          .labels_T = integers_from_host(ops, labels, shape, "test.labels"),
          .weights_T = reals_from_host(ops, ops.main_dtype(), weights, shape, "test.weights"),
          .targets = targets,
          .sequence = sequence};
}

Outcome run_on(const RankContext& context,
               const Case& c,
               const matrix::Batch& batch,
               const matrix::Tensors& values) {
  const ParameterTable table = describe_model(c.model, c.layout);
  const ActivationTable activations = describe_activations(c);
  const Parameters parameters(context.ops, table);
  write_parameters(context, table, values, parameters);
  const HeadPlan heads = plan_heads(c);
  const ContextPlan attends = plan_context(c);
  const DropoutPlan dropout = plan_dropout(c);
  const AttentionPlans attention{.heads = heads, .context = attends, .dropout = dropout};
  const CrossEntropyPlan cross_entropy = plan_cross_entropy(c);
  const Decoder decoder(context,
                        {.c = c,
                         .parameters = {table, parameters},
                         .attention = attention,
                         .cross_entropy = cross_entropy});
  const GradientBuckets gradients(context.ops, plan_buckets(table, c.recipe), table);
  gradients.fill_all(0.0, "test.zero");
  BucketSink sink(gradients);

  const BatchPlan batch_plan = plan_batch(c);
  const BatchMaker batches(context, c, batch_plan, attention);
  const MicroBatch micro_batch =
      micro_batch_of(context, c, batch, batches.micro_batch({}).sequence);
  Tape tape(context.ops);
  std::vector<Tensor> trace;
  const Variable loss_sum = decoder.loss_sum(context, tape, micro_batch, trace);
  const double scale = 1.0 / static_cast<double>(micro_batch.targets);
  const Tensor seed =
      reals_from_host(context.ops, loss_sum.value.dtype, std::array{scale}, {1}, "test.loss_scale");
  tape.backward({&loss_sum, 1}, {&seed, 1}, {}, sink);

  Outcome outcome;
  outcome.loss = read_reals(context.ops, loss_sum.value, "test.loss")[0] * scale;
  LOCKSTEP_CHECK(trace.size() == activations.size(), "every activation of the table is traced");
  LOCKSTEP_CHECK(activations.back().name == "output_layer", "logits are the last activation");
  outcome.logits_TV =
      full_tensor(context,
                  shard_of(activations.back(), batches.rows({}), context.mesh, context.rank),
                  trace.back());
  for (std::size_t i = 0; i < table.size(); ++i) {
    outcome.gradients.push_back(full_tensor(context,
                                            shard_of(table[i], context.mesh, context.rank),
                                            gradients.main_gradient({static_cast<int>(i)})));
  }
  return outcome;
}

}  // namespace

Outcome run_core(const Case& c, const matrix::Batch& batch, const matrix::Tensors& parameters) {
  Outcome outcome;
  const sim::ClusterReport report = spawn_contexts(c.layout, [&](const RankContext& context) {
    outcome = run_on(with_dtype(context, dtype_of(c.recipe.dtype)), c, batch, parameters);
  });
  LOCKSTEP_CHECK(report.findings.empty(), to_text(report));
  return outcome;
}

}  // namespace lockstep::test
