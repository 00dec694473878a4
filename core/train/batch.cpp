// The batch plan, and tokens, labels and weights from the data generator.
#include "core/train/batch.h"

#include <fmt/format.h>

#include "core/config/data.h"
#include "core/ops/host.h"

namespace lockstep {

BatchPlan plan_batch(const Case& c) {
  const SequenceCut cut = plan_sequence_cut(c);
  return {.num_micro_batches = num_micro_batches(c),
          .micro_batch = c.recipe.micro_batch,
          .micro_batch_stride = c.layout.dp,
          .dp_stride = 1,
          .ids = cut,
          .labels = cut,
          .weights = cut,
          .positions = cut,
          .rows = cut};
}

std::string to_text(const BatchPlan& plan) {
  std::string text = fmt::format("batch: {} micro-batches of {}, global number m * {} + d * {}\n",
                                 plan.num_micro_batches,
                                 plan.micro_batch,
                                 plan.micro_batch_stride,
                                 plan.dp_stride);
  text += fmt::format("batch.ids: {}\nbatch.labels: {}\nbatch.weights: {}\n",
                      to_text(plan.ids),
                      to_text(plan.labels),
                      to_text(plan.weights));
  text += fmt::format(
      "batch.positions: {}\nbatch.rows: {}\n", to_text(plan.positions), to_text(plan.rows));
  text += fmt::format("batch: labels shifted {} the cut, padding weighs {}\n",
                      plan.shift == LabelShift::kBeforeCut ? "before" : "after",
                      plan.padding_weight);
  return text;
}

std::int64_t global_micro_batch(const BatchPlan& plan,
                                std::int64_t micro_batch,
                                GroupRank dp_rank) {
  return micro_batch * plan.micro_batch_stride + dp_rank.value * plan.dp_stride;
}

namespace {

using Slots = std::vector<SequenceSlot>;

// Lists over rows: slot s of sample b is row s * micro_batch + b.
struct SampleRows {
  const Case& c;
  std::int64_t step = 0;
  std::int64_t first_sample = 0;
  std::int64_t num_samples = 0;

  template <typename T, typename Value>
  std::vector<T> of(const Slots& slots, const Value& value) const {
    std::vector<T> values;
    values.reserve(slots.size() * static_cast<std::size_t>(num_samples));
    for (std::size_t s = 0; s < slots.size(); ++s) {
      for (std::int64_t b = 0; b < num_samples; ++b) values.push_back(value(s, first_sample + b));
    }
    return values;
  }
};

std::vector<std::int64_t> ids_of(const SampleRows& rows, const Slots& slots) {
  return rows.of<std::int64_t>(slots, [&](std::size_t s, std::int64_t sample) {
    const SequenceSlot& slot = slots[s];
    return slot.is_padding() ? 0 : token(rows.c, rows.step, sample, slot.position);
  });
}

std::vector<std::int64_t> labels_of(const SampleRows& rows, const Slots& slots, LabelShift shift) {
  return rows.of<std::int64_t>(slots, [&](std::size_t s, std::int64_t sample) -> std::int64_t {
    const SequenceSlot& slot = slots[s];
    if (shift == LabelShift::kAfterCut && s + 1 < slots.size()) {
      const SequenceSlot& next = slots[s + 1];
      return next.is_padding() ? 0 : token(rows.c, rows.step, sample, next.position);
    }
    return slot.is_padding() ? 0 : token(rows.c, rows.step, sample, slot.position + 1);
  });
}

std::vector<double> weights_of(const SampleRows& rows, const Slots& slots, double of_padding) {
  return rows.of<double>(slots, [&](std::size_t s, std::int64_t sample) {
    const SequenceSlot& slot = slots[s];
    if (slot.is_padding()) return of_padding;
    return is_target(rows.c, rows.step, sample, slot.position) ? 1.0 : 0.0;
  });
}

std::int64_t num_targets(const std::vector<double>& weights) {
  std::int64_t targets = 0;
  for (const double weight : weights) targets += weight > 0.0 ? 1 : 0;
  return targets;
}

// Runs of neighbours in both the sample and the local sequence, in rows.
std::vector<ShardRun> runs_of(const Slots& slots, std::int64_t num_samples) {
  std::vector<ShardRun> runs;
  for (std::size_t s = 0; s < slots.size(); ++s) {
    if (slots[s].is_padding()) continue;
    const std::int64_t local = static_cast<std::int64_t>(s) * num_samples;
    const std::int64_t global = slots[s].position * num_samples;
    if (!runs.empty() && runs.back().local + runs.back().count == local &&
        runs.back().global + runs.back().count == global) {
      runs.back().count += num_samples;
    } else {
      runs.push_back({.local = local, .global = global, .count = num_samples});
    }
  }
  return runs;
}

}  // namespace

BatchMaker::BatchMaker(const RankContext& context,
                       const Case& c,
                       const BatchPlan& plan,
                       const AttentionPlans& attention)
    : context_(context), c_(c), plan_(plan), attention_(attention) {
  if (!c.recipe.packing) fixed_ = tables_of(documents_of({}));
}

std::int64_t BatchMaker::first_sample(const MicroBatchId& id) const {
  return id.global_micro_batch * plan_.micro_batch;
}

Documents BatchMaker::documents_of(const MicroBatchId& id) const {
  return {.starts = document_starts(c_, id.step, first_sample(id)), .seq = c_.recipe.seq};
}

Slots BatchMaker::slots(const SequenceCut& cut, const Documents& documents) const {
  return slots_of(cut, documents, part_of(cut, context_));
}

SequenceTables BatchMaker::tables_of(const Documents& documents) const {
  const OpContext& ops = context_.ops;
  const Model& model = c_.model;
  SequenceTables tables;
  if (model.attention == Attention::kNone) return tables;
  if (model.position == Position::kRope) {
    std::vector<std::int64_t> positions;
    for (const SequenceSlot& slot : slots(plan_.positions, documents)) {
      positions.push_back(slot.place);
    }
    tables.rope = rope_tables(ops, positions, model.head_dim, model.rope_theta);
  }
  if (attention_.context.is_whole) return tables;
  const AttendedParts parts = attended_parts(attention_.context, context_);
  const auto table_of = [&](const std::vector<std::int64_t>& of_parts) {
    return token_table(ops, attention_.context, documents, of_parts);
  };
  tables.query_tokens = table_of(parts.queries);
  for (const auto& keys : parts.forward_keys) tables.forward_key_tokens.push_back(table_of(keys));
  for (const auto& keys : parts.backward_keys) tables.backward_key_tokens.push_back(table_of(keys));
  return tables;
}

Slots BatchMaker::residual_slots(const Documents& documents) const {
  const Slots all = slots(plan_.rows, documents);
  if (!c_.layout.sp) return all;
  const std::size_t count = all.size() / static_cast<std::size_t>(c_.layout.tp);
  const auto rank = static_cast<std::size_t>(context_.group_rank(GroupKind::kTp).value);
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(rank * count);
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

Tensor BatchMaker::dropout_rows(const Documents& documents, std::int64_t first_token) const {
  const DropoutPlan& plan = attention_.dropout;
  if (plan.probability == 0.0) return {};
  const bool is_local = plan.of(plan.residual).index == MaskIndex::kLocal;
  std::vector<std::int64_t> rows;
  for (const SequenceSlot& slot : residual_slots(documents)) {
    for (std::int64_t b = 0; b < plan_.micro_batch; ++b) {
      const std::int64_t full =
          slot.is_padding() ? -1 : first_token + b * c_.recipe.seq + slot.position;
      rows.push_back(is_local ? static_cast<std::int64_t>(rows.size()) : full);
    }
  }
  return integers_from_host(
      context_.ops, rows, {static_cast<std::int64_t>(rows.size())}, "batch.rows");
}

MicroBatch BatchMaker::micro_batch(const MicroBatchId& id) const {
  const OpContext& ops = context_.ops;
  const Documents documents = documents_of(id);
  const SampleRows rows{
      .c = c_, .step = id.step, .first_sample = first_sample(id), .num_samples = plan_.micro_batch};
  const auto ids = ids_of(rows, slots(plan_.ids, documents));
  const auto labels = labels_of(rows, slots(plan_.labels, documents), plan_.shift);
  const auto weights = weights_of(rows, slots(plan_.weights, documents), plan_.padding_weight);
  const Shape shape{static_cast<std::int64_t>(ids.size())};
  MicroBatch batch{
      .ids_T = integers_from_host(ops, ids, shape, "batch.ids"),
      .labels_T = integers_from_host(ops, labels, shape, "batch.labels"),
      .weights_T = reals_from_host(ops, ops.main_dtype(), weights, shape, "batch.weights"),
      .targets = num_targets(weights),
      .sequence = c_.recipe.packing ? tables_of(documents) : fixed_};
  batch.sequence.first_token = first_token_of(c_, id.step, rows.first_sample);
  batch.sequence.residual_rows = dropout_rows(documents, batch.sequence.first_token);
  return batch;
}

ActivationRowRuns BatchMaker::rows(const MicroBatchId& id) const {
  const Documents documents = documents_of(id);
  const Slots all = slots(plan_.rows, documents);
  const Slots own = residual_slots(documents);
  const auto num_rows = [&](const Slots& slots) {
    return static_cast<std::int64_t>(slots.size()) * plan_.micro_batch;
  };
  return {.all = runs_of(all, plan_.micro_batch),
          .own = runs_of(own, plan_.micro_batch),
          .num_all = num_rows(all),
          .num_own = num_rows(own)};
}

}  // namespace lockstep
