// A training step, end to end (semantics, section 11.1).
#include "core/train/trainer.h"

#include <algorithm>
#include <array>

#include "core/ops/host.h"

namespace lockstep {
namespace {

class Trainer {
 public:
  Trainer(const RankContext& context, const Case& c, const Plans& plans)
      : context_(context),
        case_(c),
        plans_(plans),
        parameters_(context.ops, plans.table),
        gradients_(context.ops, plans.buckets, plans.table),
        model_(context, c.model, plans.table, parameters_) {
    initialise(context, plans.init, plans.table, parameters_);
  }

  StepResult run_step(std::int64_t step) {
    StepResult result;
    StepTotals totals;
    gradients_.zero();
    const GroupRank dp_rank = context_.group_rank(GroupKind::kDp);
    for (std::int64_t m = 0; m < plans_.batch.num_micro_batches; ++m) {
      const std::int64_t index = global_micro_batch(plans_.batch, m, dp_rank);
      result.losses.push_back(run_micro_batch({.step = step, .global_micro_batch = index}, totals));
    }
    result.loss = finalize_grads(context_, plans_.finalize, gradients_, totals).objective;
    result.gradients = shards("snapshot.gradient",
                              [this](ParameterId id) { return gradients_.main_gradient(id); });
    update_parameters(context_.ops, plans_.update, parameters_, gradients_);
    result.parameters =
        shards("snapshot.parameter", [this](ParameterId id) { return parameters_[id].value; });
    return result;
  }

 private:
  MicroBatchLoss run_micro_batch(const MicroBatchId& id, StepTotals& totals) {
    const MicroBatch batch = make_micro_batch(context_, case_, plans_.batch, id);
    Tape tape(context_.ops);
    const Variable loss_sum = model_.loss_sum(context_, tape, batch);
    const double scale = loss_scale(plans_.loss, batch.targets);
    const Tensor seed = reals_from_host(context_.ops, std::array{scale}, {1}, "loss.scale");
    tape.backward({&loss_sum, 1}, {&seed, 1}, {}, gradients_);

    const double sum = read_reals(context_.ops, loss_sum.value, "loss.read")[0];
    totals.objective += sum * scale;
    totals.targets += static_cast<double>(batch.targets);
    return {.global_micro_batch = id.global_micro_batch,
            .loss = sum / static_cast<double>(std::max<std::int64_t>(batch.targets, 1)),
            .targets = batch.targets};
  }

  template <typename TensorOf>
  std::vector<Shard> shards(std::string_view label, TensorOf tensor_of) const {
    std::vector<Shard> result;
    for (std::size_t i = 0; i < plans_.table.size(); ++i) {
      result.push_back(shard_of(plans_.table[i], context_.mesh, context_.rank));
      result.back().values = read_reals(context_.ops, tensor_of({static_cast<int>(i)}), label);
    }
    return result;
  }

  const RankContext& context_;
  const Case& case_;
  const Plans& plans_;
  Parameters parameters_;
  GradientBuckets gradients_;
  Decoder model_;
};

}  // namespace

void train(const RankContext& context, const Case& c, const Plans& plans, RankResult& result) {
  Trainer trainer(context, c, plans);
  for (std::int64_t step = 0; step < c.recipe.steps; ++step) {
    result.steps.push_back(trainer.run_step(step));
  }
}

}  // namespace lockstep
