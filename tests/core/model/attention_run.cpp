// Inputs cut by slots and heads, results written back to where they belong.
#include "tests/core/model/attention_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "core/config/data.h"
#include "core/config/rules.h"
#include "core/model/context_attention.h"
#include "core/ops/host.h"
#include "core/train/batch.h"
#include "tests/core/autograd/recording_sink.h"
#include "tests/support/rank_fixture.h"

namespace lockstep::test {
namespace {

// What distinguishes the known tensors.
enum class Known : std::uint64_t { kQueries, kKeys, kValues, kOutputGradient, kSink };

double known(Known which, std::int64_t micro_batch, std::int64_t index) {
  const auto stream =
      static_cast<std::uint64_t>(which) + 10 * static_cast<std::uint64_t>(micro_batch);
  return random_signed(3, stream, static_cast<std::uint64_t>(index));
}

// A rank's rows and heads of a full [samples, seq, heads, head_dim].
struct Part {
  std::vector<SequenceSlot> slots;
  std::int64_t samples = 1;
  std::int64_t seq = 0;
  std::int64_t all_heads = 0;
  std::int64_t first_head = 0;
  std::int64_t num_heads = 0;
  std::int64_t head_dim = 0;

  Shape shape() const {
    return {static_cast<std::int64_t>(slots.size()) * samples, num_heads * head_dim};
  }
  std::size_t full_size() const {
    return static_cast<std::size_t>(samples * seq * all_heads * head_dim);
  }

  // Full index by local one, in order; -1 of padding.
  std::vector<std::int64_t> indices() const {
    std::vector<std::int64_t> indices;
    for (const SequenceSlot& slot : slots) {
      for (std::int64_t b = 0; b < samples; ++b) {
        const std::int64_t row = (b * seq + slot.position) * all_heads + first_head;
        for (std::int64_t i = 0; i < num_heads * head_dim; ++i) {
          indices.push_back(slot.is_padding() ? -1 : row * head_dim + i);
        }
      }
    }
    return indices;
  }
};

Tensor cut_out(const RankContext& context,
               const Part& part,
               Known which,
               std::int64_t micro_batch,
               double padding) {
  std::vector<double> values;
  for (const std::int64_t index : part.indices()) {
    values.push_back(index < 0 ? padding : known(which, micro_batch, index));
  }
  return reals_from_host(context.ops, DType::kF64, values, part.shape(), "test.known");
}

void write_back(const Tensor& local, const Part& part, std::vector<double>& full) {
  full.resize(part.full_size(), std::nan(""));
  const std::vector<double> values = values_of(local);
  const std::vector<std::int64_t> indices = part.indices();
  ASSERT_EQ(values.size(), indices.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (indices[i] >= 0) full[static_cast<std::size_t>(indices[i])] = values[i];
  }
}

double largest_at_padding(const Tensor& gradient, const Part& part) {
  const std::vector<double> values = values_of(gradient);
  const std::vector<std::int64_t> indices = part.indices();
  double largest = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (indices[i] < 0) largest = std::max(largest, std::abs(values[i]));
  }
  return largest;
}

struct Parts {
  Part queries;
  Part keys;
};

Parts parts_of(const RankContext& context,
               const Case& c,
               const ContextPlan& plan,
               const Documents& documents) {
  const Model& model = c.model;
  const std::int64_t tp = c.layout.tp;
  const std::int64_t tp_rank = context.group_rank(GroupKind::kTp).value;
  Part part{.slots = slots_of(plan.tokens, documents, part_of(plan.tokens, context)),
            .samples = c.recipe.micro_batch,
            .seq = c.recipe.seq,
            .head_dim = model.head_dim};
  const auto with_heads = [&](std::int64_t all) {
    part.all_heads = all;
    part.num_heads = all / tp;
    part.first_head = tp_rank * part.num_heads;
    return part;
  };
  return {.queries = with_heads(model.num_attention_heads),
          .keys = with_heads(model.num_key_value_heads)};
}

Tensor own_sink(const RankContext& context, const Part& queries) {
  std::vector<double> logits;
  for (std::int64_t h = 0; h < queries.num_heads; ++h) {
    logits.push_back(known(Known::kSink, 0, queries.first_head + h));
  }
  return reals_from_host(context.ops, DType::kF64, logits, {queries.num_heads}, "test.sink");
}

void run_on(const RankContext& context,
            const Case& c,
            const AttentionPlansEdited& plans,
            std::int64_t micro_batch,
            AttentionRun& run) {
  const BatchPlan batch_plan = plan_batch(c);
  const HeadPlan head_plan = plan_heads(c);
  const AttentionPlans attention_plans{
      .heads = head_plan, .context = plans.context, .dropout = plans.dropout};
  const BatchMaker batches(context, c, batch_plan, attention_plans);
  const MicroBatch batch = batches.micro_batch({.step = 0, .global_micro_batch = micro_batch});
  const Documents documents{.starts = document_starts(c, 0, micro_batch * c.recipe.micro_batch),
                            .seq = c.recipe.seq};
  const Parts parts = parts_of(context, c, plans.context, documents);
  std::optional<Parameter> sink;
  if (c.model.attention_sink) {
    sink = Parameter{.id = {0}, .value = own_sink(context, parts.queries)};
  }
  const ContextAttention attention(
      context,
      c,
      plans.context,
      plans.dropout,
      {.batch = c.recipe.micro_batch,
       .num_heads = parts.queries.num_heads,
       .num_kv_heads = parts.keys.num_heads,
       .head_dim = c.model.head_dim,
       .scale = 1.0 / std::sqrt(static_cast<double>(c.model.head_dim))},
      "test.core_attention",
      sink);
  Tape tape(context.ops);
  RecordingSink gradients(context.ops);
  const auto input = [&](const Part& part, Known which, double padding) {
    return tape.input(cut_out(context, part, which, micro_batch, padding));
  };
  const QkvVariables heads{.q = input(parts.queries, Known::kQueries, 0.5),
                           .k = input(parts.keys, Known::kKeys, 0.75),
                           .v = input(parts.keys, Known::kValues, 100.0)};
  const Variable out = attention.forward(context, tape, heads, batch.sequence);
  const Tensor dout = cut_out(context, parts.queries, Known::kOutputGradient, micro_batch, 0.0);
  const std::vector<Variable> inputs{heads.q, heads.k, heads.v};
  const std::vector<Tensor> d = tape.backward({&out, 1}, {&dout, 1}, inputs, gradients);

  if (context.group_rank(GroupKind::kDp).value + 1 < context.group_size(GroupKind::kDp)) return;
  write_back(out.value, parts.queries, run.out);
  write_back(d[0], parts.queries, run.dq);
  write_back(d[1], parts.keys, run.dk);
  write_back(d[2], parts.keys, run.dv);
  for (const Tensor& gradient : {d[1], d[2]}) {
    run.at_padding = std::max(run.at_padding, largest_at_padding(gradient, parts.keys));
  }
  if (!gradients.gradients.contains(0)) return;
  const std::vector<double> dsink = values_of(gradients.gradients.at(0));
  run.dsink.resize(static_cast<std::size_t>(c.model.num_attention_heads));
  for (std::size_t h = 0; h < dsink.size(); ++h) {
    run.dsink[static_cast<std::size_t>(parts.queries.first_head) + h] += dsink[h];
  }
}

}  // namespace

AttentionRun run_attention(const Case& c,
                           std::int64_t first,
                           const std::function<void(AttentionPlansEdited&)>& edit) {
  EXPECT_EQ(why_invalid(c).value_or(""), "");
  AttentionPlansEdited plans{.context = plan_context(c), .dropout = plan_dropout(c)};
  edit(plans);
  AttentionRun run;
  const auto report = spawn_contexts(c.layout, [&](const RankContext& context) {
    run_on(context, c, plans, first + context.group_rank(GroupKind::kDp).value, run);
  });
  EXPECT_TRUE(report.findings.empty()) << to_text(report);
  return run;
}

}  // namespace lockstep::test
