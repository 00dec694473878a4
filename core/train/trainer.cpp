// A training step, end to end (semantics, section 11.1).
#include "core/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/errors.h"
#include "core/ops/elementwise.h"
#include "core/ops/host.h"

namespace lockstep {

Trainer::Trainer(const RankContext& context, const Case& c, const Plans& plans)
    : context_(context),
      case_(c),
      plans_(plans),
      attention_{.heads = plans.heads, .context = plans.context, .dropout = plans.dropout},
      batches_(context, c, plans.batch, attention_),
      parameters_(context.ops, plans.table),
      state_(context.ops, plans.update.state, parameters_),
      gradients_(context.ops, plans.buckets, plans.table),
      sink_(context, plans.accumulation, gradients_),
      model_(context,
             {.c = c,
              .parameters = {plans.table, parameters_},
              .attention = attention_,
              .cross_entropy = plans.cross_entropy}),
      snapshot_(context, plans.table, plans.activations) {
  initialise(context, plans.init, plans.table, state_);
}

StepResult Trainer::run_step(std::int64_t step) {
  begin_step(step);
  for (std::int64_t m = 0; m < plans_.batch.num_micro_batches; ++m) run_micro_batch();
  return finish_step();
}

void Trainer::begin_step(std::int64_t step) {
  LOCKSTEP_CHECK(!open_.has_value(),
                 fmt::format("step {} begins, but step {} is not finished", step, open_->step));
  open_ = OpenStep{.step = step};
  sink_.begin_step();
}

void Trainer::run_micro_batch() {
  LOCKSTEP_CHECK(open_.has_value(), "a micro-batch runs, but no step has begun");
  const std::int64_t m = open_->num_micro_batches;
  LOCKSTEP_CHECK(m < plans_.batch.num_micro_batches,
                 fmt::format("step {} has all of its {} micro-batches", open_->step, m));
  const GroupRank dp_rank = context_.group_rank(GroupKind::kDp);
  const MicroBatchId id{.step = open_->step,
                        .global_micro_batch = global_micro_batch(plans_.batch, m, dp_rank)};
  sink_.begin_micro_batch(m);
  open_->result.losses.push_back(forward_backward(id, open_->totals));
  ++open_->num_micro_batches;
}

MicroBatchLoss Trainer::forward_backward(const MicroBatchId& id, StepTotals& totals) {
  const OpContext& ops = context_.ops;
  const MicroBatch batch = batches_.micro_batch(id);
  Tape tape(ops);
  std::vector<Tensor> trace;
  const Variable sum = model_.loss_sum(context_, tape, batch, trace);
  const LossOutput output = masked_loss(context_, tape, plans_.loss, sum, batch.targets);
  const Tensor& loss = output.loss.value;
  const double scale = loss_scale(context_, plans_.loss, output);
  if (!case_.recipe.forward_only) {
    const Tensor seed = reals_from_host(ops, loss.dtype, std::array{scale}, {1}, "loss.scale");
    tape.backward({&output.loss, 1}, {&seed, 1}, {}, sink_);
  }
  totals.objective += read_reals(ops, loss, "loss.read")[0] * scale;
  if (output.count) totals.targets += read_reals(ops, output.count, "loss.read_count")[0];
  if (plans_.loss.reported == ReportedLoss::kScaled) {
    scale_in_place(ops, output.report.loss_sum, scale, "loss.scale_in_place");
  }
  const double told = read_reals(ops, output.report.loss_sum, "loss.read_report")[0];
  const double targets = read_reals(ops, output.report.count, "loss.read_reported_count")[0];
  totals.reported_loss_sum += told;
  totals.reported_targets += targets;
  return {.global_micro_batch = id.global_micro_batch,
          .loss_sum = told,
          .targets = static_cast<std::int64_t>(targets),
          .activations = snapshot_.of_activations(trace, batches_.rows(id))};
}

StepResult Trainer::finish_step() {
  LOCKSTEP_CHECK(open_.has_value(), "a step is finished, but none has begun since the last finish");
  LOCKSTEP_CHECK(open_->num_micro_batches == plans_.batch.num_micro_batches,
                 fmt::format("step {} is finished after {} of its {} micro-batches",
                             open_->step,
                             open_->num_micro_batches,
                             plans_.batch.num_micro_batches));
  OpenStep open = std::move(*open_);
  open_.reset();
  StepResult result = std::move(open.result);
  const StepTotals totals =
      finalize_grads(context_, plans_.finalize, gradients_, sink_, open.totals);
  result.loss = totals.objective;
  result.reported_loss = totals.reported_loss_sum / std::max(totals.reported_targets, 1.0);
  result.reported_targets = static_cast<std::int64_t>(totals.reported_targets);
  if (!case_.recipe.forward_only) update(result);
  return result;
}

void Trainer::update(StepResult& result) {
  result.gradients = snapshot_.of_parameters(SnapshotKind::kGradient, gradients_.main_gradients());
  result.gradient_norm = norm(context_, plans_.gradient_norm, gradients_.main_gradients());
  clip_grads(plans_.clip, gradients_, result.gradient_norm);
  if (case_.recipe.clip > 0.0) {
    result.clipped_gradients =
        snapshot_.of_parameters(SnapshotKind::kClippedGradient, gradients_.main_gradients());
  }
  result.gradient_zeros = num_zeros(context_, plans_.gradient_zeros, gradients_.main_gradients());

  update_parameters(context_.ops, plans_.update, gradients_, state_);
  result.parameters = snapshot_.of_parameters(SnapshotKind::kParameter, state_.parameters());
  result.parameter_norm = norm(context_, plans_.parameter_norm, state_.masters());
  if (state_.has_masters()) {
    result.masters = snapshot_.of_parameters(SnapshotKind::kMaster, state_.masters());
  }
  result.exp_avg = snapshot_.of_parameters(SnapshotKind::kExpAvg, state_.exp_avg());
  result.exp_avg_sq = snapshot_.of_parameters(SnapshotKind::kExpAvgSq, state_.exp_avg_sq());
}

std::vector<ProbeResult> Trainer::run_probes() {
  LOCKSTEP_CHECK(!open_.has_value(), "probes would overwrite the gradients of a step under way");
  return lockstep::run_probes(context_,
                              plans_.probes,
                              {.gradient_norm = plans_.gradient_norm,
                               .gradient_zeros = plans_.gradient_zeros,
                               .parameter_norm = plans_.parameter_norm},
                              plans_.table,
                              gradients_);
}

namespace {

// The split API from outside, as a framework drives it that owns the loop over micro-batches.
StepResult drive_step(Trainer& trainer, std::int64_t step, std::int64_t num_micro_batches) {
  trainer.begin_step(step);
  for (std::int64_t m = 0; m < num_micro_batches; ++m) trainer.run_micro_batch();
  return trainer.finish_step();
}

StepResult run_with(StepApi api, Trainer& trainer, std::int64_t step, const BatchPlan& batch) {
  switch (api) {
    case StepApi::kFused:
      return trainer.run_step(step);
    case StepApi::kSplit:
      return drive_step(trainer, step, batch.num_micro_batches);
  }
  throw InternalError("unknown step API");
}

}  // namespace

void train(const RankContext& context, const Case& c, const Plans& plans, RankResult& result) {
  Trainer trainer(context, c, plans);
  for (std::int64_t step = 0; step < c.recipe.steps; ++step) {
    result.steps.push_back(run_with(c.recipe.step_api, trainer, step, plans.batch));
  }
  if (!c.recipe.forward_only) result.probes = trainer.run_probes();
}

}  // namespace lockstep
