// A decoder on any number of tensor and context ranks traces, loses and derives what it does on
// one.
#include "core/model/decoder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/config/presets.h"
#include "tests/support/micro_batch_run.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::MicroBatchRun;
using test::relative_error;

MicroBatchRun run(const Case& c) {
  return test::run_micro_batch(
      c, {.id = {.step = 0, .global_micro_batch = 1}, .edit = [&](Plans& plans) {
            plans.cross_entropy.smoothing = {.weight = 0.1, .vocabulary = c.model.vocab_size};
          }});
}

void expect_equal(const Case& c, const MicroBatchRun& alone, const std::string& what) {
  const MicroBatchRun outcome = run(c);
  const double loss = alone.loss_sums.at(0);
  EXPECT_NEAR(outcome.loss_sum(c.layout), loss, 1e-12 * loss) << what;
  EXPECT_EQ(outcome.num_targets(c.layout), alone.targets.at(0)) << what;
  ASSERT_EQ(outcome.activations.size(), alone.activations.size()) << what;
  for (std::size_t i = 0; i < alone.activations.size(); ++i) {
    EXPECT_LT(relative_error(outcome.activations[i], alone.activations[i]), 1e-12)
        << what << " trace " << i;
  }
  ASSERT_EQ(outcome.gradients.size(), alone.gradients.size()) << what;
  for (std::size_t i = 0; i < alone.gradients.size(); ++i) {
    EXPECT_LT(relative_error(outcome.gradients[i], alone.gradients[i]), 1e-11)
        << what << " gradient " << i;
  }
}

void expect_as_on_one_rank(Case c, const std::string& what) {
  const MicroBatchRun alone = run(c);
  for (const std::int64_t tp : {2, 4, 8}) {
    for (const bool sp : {false, true}) {
      if (sp && c.model.gather_output) continue;  // they exclude each other
      c.layout.tp = tp;
      c.layout.sp = sp;
      expect_equal(c, alone, what + " tp " + std::to_string(tp) + (sp ? " sp" : ""));
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

TEST(Decoder, WindowsSinksAndPackedDocumentsGiveOneRanksResult) {
  Case c = small_dense();
  c.model.sliding_window = 3;
  expect_as_on_one_rank(c, "window");
  c = small_dense();
  c.model.attention_sink = true;
  expect_as_on_one_rank(c, "sink");
  c = small_dense();
  c.recipe.micro_batch = 1;
  c.recipe.packing = true;
  expect_as_on_one_rank(c, "packed");
}

struct Exchange {
  CpComm comm;
  std::int64_t cp;
};

std::vector<Exchange> exchanges() {
  std::vector<Exchange> all{{.comm = CpComm::kAllToAllP2p, .cp = 4}};
  for (const CpComm comm : {CpComm::kP2p, CpComm::kAllGather, CpComm::kAllToAll}) {
    for (const std::int64_t cp : {2, 4}) all.push_back({.comm = comm, .cp = cp});
  }
  return all;
}

void expect_as_without_context_parallelism(Case c, const std::string& what) {
  c.model.num_key_value_heads = 8;  // shared out over tp 2 and cp 4
  const MicroBatchRun alone = run(c);
  c.layout.tp = 2;
  c.layout.dp = 2;
  c.layout.cp_inner = 2;
  for (const auto& [comm, cp] : exchanges()) {
    for (const bool sp : {false, true}) {
      c.layout.sp = sp;
      c.layout.cp = cp;
      c.layout.cp_comm = comm;
      expect_equal(c,
                   alone,
                   what + " comm " + std::to_string(static_cast<int>(comm)) + " cp " +
                       std::to_string(cp) + (sp ? " sp" : ""));
    }
  }
}

TEST(Decoder, EachExchangeOfContextParallelismGivesOneRanksResult) {
  expect_as_without_context_parallelism(small_dense(), "plain");
}

TEST(Decoder, EachExchangeOfPackedDocumentsGivesOneRanksResult) {
  Case c = small_dense();
  c.recipe.micro_batch = 1;
  c.recipe.packing = true;
  expect_as_without_context_parallelism(c, "packed");
}

TEST(Decoder, EachExchangeWithASinkGivesOneRanksResult) {
  Case c = small_dense();
  c.model.attention_sink = true;
  expect_as_without_context_parallelism(c, "sink");
}

TEST(Decoder, ALoneModelSwitchChangesTheLoss) {
  const double loss = run(small_dense()).loss_sums.at(0);
  for (const auto& edit : {+[](Model& m) { m.norm = Norm::kLayer; },
                           +[](Model& m) { m.bias = true; },
                           +[](Model& m) { m.tied = true; },
                           +[](Model& m) { m.mlp = Mlp::kPlain; },
                           +[](Model& m) { m.qk_norm = false; },
                           +[](Model& m) { m.position = Position::kNone; },
                           +[](Model& m) { m.num_key_value_heads = 4; },
                           +[](Model& m) { m.sliding_window = 3; },
                           +[](Model& m) { m.attention_sink = true; },
                           +[](Model& m) { m.attention = Attention::kNone; }}) {
    Case c = small_dense();
    edit(c.model);
    EXPECT_GT(std::abs(run(c).loss_sums.at(0) - loss), 1e-6 * loss);
  }
}

}  // namespace
}  // namespace lockstep
