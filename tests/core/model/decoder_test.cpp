// A decoder on any number of tensor ranks traces and loses what it does on one.
#include "core/model/decoder.h"

#include <gtest/gtest.h>

#include <span>

#include "core/config/presets.h"
#include "core/model/cross_entropy_plan.h"
#include "core/model/describe_model.h"
#include "core/ops/host.h"
#include "core/snapshot/assemble.h"
#include "core/snapshot/stretches.h"
#include "tests/support/op_fixture.h"
#include "tests/support/rank_fixture.h"

namespace lockstep {
namespace {

using test::relative_error;
using test::spawn_contexts;
using test::values_of;

void write_initial(const RankContext& context,
                   const ParameterTable& table,
                   const Parameters& parameters) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    Shard shard = shard_of(table[i], context.mesh, context.rank);
    const InitialValues initial(1, table[i].name, table[i].init, table[i].fan_in);
    fill_shard(shard, [&](std::int64_t full, std::span<double> local) {
      for (double& value : local) value = initial[full++];
    });
    write_reals(context.ops, shard.values, parameters[{static_cast<int>(i)}].value, "test.init");
  }
}

MicroBatch some_batch(const RankContext& context, const Case& c) {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> labels;
  std::vector<double> weights;
  for (std::int64_t t = 0; t < c.recipe.seq * c.recipe.micro_batch; ++t) {
    ids.push_back(token(c, 0, 0, t % c.recipe.seq));
    labels.push_back(token(c, 0, 1, t % c.recipe.seq));
    weights.push_back(t % 3 == 0 ? 0.0 : 1.0);
  }
  const Shape shape{static_cast<std::int64_t>(ids.size())};
  return {.ids_T = integers_from_host(context.ops, ids, shape, "test"),
          .labels_T = integers_from_host(context.ops, labels, shape, "test"),
          .weights_T = reals_from_host(context.ops, DType::kF64, weights, shape, "test")};
}

struct Outcome {
  double loss = 0.0;
  std::vector<std::vector<double>> trace;  // by activation, put together over the ranks
};

Outcome run(const Case& c) {
  const ParameterTable table = describe_model(c.model, c.layout);
  const ActivationTable activations = describe_activations(c);
  const HeadPlan heads = plan_heads(c);
  CrossEntropyPlan cross_entropy = plan_cross_entropy(c);
  cross_entropy.smoothing = {.weight = 0.1, .vocabulary = c.model.vocab_size};
  std::vector<std::vector<Shard>> shards(static_cast<std::size_t>(c.layout.tp));
  Outcome outcome;
  const auto report = spawn_contexts(c.layout, [&](const RankContext& context) {
    const Parameters parameters(context.ops, table);
    write_initial(context, table, parameters);
    const Decoder decoder(context,
                          {.c = c,
                           .parameters = {table, parameters},
                           .heads = heads,
                           .cross_entropy = cross_entropy});
    Tape tape(context.ops);
    std::vector<Tensor> trace;
    outcome.loss =
        values_of(decoder.loss_sum(context, tape, some_batch(context, c), trace).value)[0];
    ASSERT_EQ(trace.size(), activations.size());
    for (std::size_t i = 0; i < trace.size(); ++i) {
      Shard shard = shard_of(activations[i], context.mesh, context.rank);
      shard.values = values_of(trace[i]);
      EXPECT_EQ(shard_problem(shard), "") << shard.name;
      shards[static_cast<std::size_t>(context.rank.value)].push_back(std::move(shard));
    }
  });
  EXPECT_TRUE(report.findings.empty()) << test::to_text(report);
  for (std::size_t i = 0; i < activations.size(); ++i) {
    std::vector<RankShard> held;
    for (std::size_t rank = 0; rank < shards.size(); ++rank) {
      held.push_back({.rank = {static_cast<int>(rank)}, .shard = &shards[rank].at(i)});
    }
    Assembly assembly = assemble(held);
    EXPECT_EQ(assembly.problem, "") << activations[i].name;
    outcome.trace.push_back(std::move(assembly.values));
  }
  return outcome;
}

void expect_as_on_one_rank(Case c, const std::string& what) {
  const Outcome alone = run(c);
  for (const std::int64_t tp : {2, 4, 8}) {
    for (const bool sp : {false, true}) {
      if (sp && c.model.gather_output) continue;  // they exclude each other
      c.layout.tp = tp;
      c.layout.sp = sp;
      const Outcome outcome = run(c);
      EXPECT_NEAR(outcome.loss, alone.loss, 1e-12 * alone.loss) << what << " tp " << tp;
      for (std::size_t i = 0; i < alone.trace.size(); ++i) {
        EXPECT_LT(relative_error(outcome.trace[i], alone.trace[i]), 1e-12)
            << what << " tp " << tp << " sp " << sp << " trace " << i;
      }
    }
  }
}

Case small_dense() {
  Case c = preset_case("tiny-dense");
  c.recipe.seq = 16;
  c.recipe.micro_batch = 2;
  c.model.num_hidden_layers = 1;
  return c;
}

TEST(Decoder, AnyNumberOfKeyValueHeadsGivesOneRanksResult) {
  for (const std::int64_t kv_heads : {1, 2, 4, 8}) {
    Case c = small_dense();
    c.model.num_key_value_heads = kv_heads;
    expect_as_on_one_rank(c, "kv heads " + std::to_string(kv_heads));
  }
}

TEST(Decoder, EverySwitchOfTheModelGivesOneRanksResult) {
  Case c = small_dense();
  c.model.norm = Norm::kLayer;
  c.model.bias = c.model.tied = true;
  expect_as_on_one_rank(c, "layer norm, biases, tied head");
  c = small_dense();
  c.model.mlp = Mlp::kPlain;
  c.model.qk_norm = false;
  c.model.position = Position::kNone;
  expect_as_on_one_rank(c, "plain mlp without q/k norm and RoPE");
  c = small_dense();
  c.model.gather_output = true;
  expect_as_on_one_rank(c, "gathered logits");
}

TEST(Decoder, ALoneModelSwitchChangesTheLoss) {
  const double loss = run(small_dense()).loss;
  for (const auto& edit : {+[](Model& m) { m.norm = Norm::kLayer; },
                           +[](Model& m) { m.bias = true; },
                           +[](Model& m) { m.tied = true; },
                           +[](Model& m) { m.mlp = Mlp::kPlain; },
                           +[](Model& m) { m.qk_norm = false; },
                           +[](Model& m) { m.position = Position::kNone; },
                           +[](Model& m) { m.num_key_value_heads = 4; },
                           +[](Model& m) { m.attention = Attention::kNone; }}) {
    Case c = small_dense();
    edit(c.model);
    EXPECT_GT(std::abs(run(c).loss - loss), 1e-6 * loss);
  }
}

}  // namespace
}  // namespace lockstep
