// Which layouts can exist, and the sentence told for each that cannot.
#include "core/config/rules.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/base/errors.h"
#include "core/config/expression.h"
#include "core/config/presets.h"

namespace lockstep::test {
namespace {

std::string reason(const std::function<void(Case&)>& edit) {
  Case c = preset_case("tiny-linear");
  edit(c);
  return why_invalid(c).value_or("valid");
}

// One edit of a valid case that breaks one rule, and what is told; in the order of rules().
struct Broken {
  std::function<void(Case&)> edit;
  std::string reason;
};

void with_experts(Case& c) { c.model.num_experts = 8; }

std::vector<Broken> broken_dense_cases() {
  return {
      {[](Case& c) { c.layout.sp = true; }, "sp needs tp above 1, and tp is 1"},
      {[](Case& c) {
         c.layout.sp = c.model.gather_output = true;
         c.layout.tp = 2;
       },
       "gather_output and sp exclude each other"},
      {[](Case& c) { c.layout.tp = 7; }, "intermediate_size 48 is not divisible by tp 7"},
      {[](Case& c) { c.layout.vpp = 2; }, "vpp 2 needs pp above 1"},
      {[](Case& c) { c.layout.pp = 3; },
       "num_hidden_layers 2 is not divisible by pp 3 times vpp 1"},
      {[](Case& c) { c.layout.dp = 5; },
       "global_batch 12 is not divisible by dp 5 times micro_batch 1"},
      {[](Case& c) { c.layout.cp = 8; }, "seq 8 is not divisible by twice cp 8"},
      {[](Case& c) {
         c.layout.sp = true;
         c.layout.tp = 16;
       },
       "seq 8 is not divisible by cp 1 times tp 16"},
      {[](Case& c) {
         c.recipe.packing = true;
         c.recipe.micro_batch = 2;
       },
       "packing needs a micro_batch of 1, and it is 2: one table of documents serves a "
       "micro-batch"},
  };
}

std::vector<Broken> broken_context_cases() {
  return {
      {[](Case& c) {
         c.model.attention = Attention::kCausal;
         c.layout.cp = 4;
         c.layout.cp_comm = CpComm::kAllToAll;
       },
       "cp_comm a2a shares out heads: num_attention_heads 8 and num_key_value_heads 2 must be "
       "divisible by tp 1 times cp 4"},
      {[](Case& c) {
         c.layout.cp = 2;
         c.layout.cp_inner = 1;
         c.layout.cp_comm = CpComm::kAllToAllP2p;
       },
       "cp_comm a2a+p2p needs cp_inner above 1: with 1 it is p2p"},
      {[](Case& c) {
         c.layout.cp = 2;
         c.layout.cp_comm = CpComm::kAllToAllP2p;
       },
       "cp_comm a2a+p2p needs a cp that is a multiple of cp_inner 2 above it, and it is 2"},
      {[](Case& c) {
         c.model.attention = Attention::kCausal;
         c.layout.tp = 2;
         c.layout.cp = 4;
         c.layout.cp_comm = CpComm::kAllToAllP2p;
       },
       "cp_comm a2a+p2p shares out heads: num_attention_heads 8 and num_key_value_heads 2 must be "
       "divisible by tp 2 times cp_inner 2"},
      {[](Case& c) { c.model.sliding_window = 4; },
       "sliding_window 4 needs attention, and the model has none"},
      {[](Case& c) { c.model.attention_sink = true; },
       "an attention_sink needs attention, and the model has none"},
      {[](Case& c) {
         c.model.attention = Attention::kCausal;
         c.model.sliding_window = 4;
         c.layout.cp = 2;
       },
       "a sliding_window needs cp_comm all_gather or a2a, and it is p2p"},
      {[](Case& c) {
         c.recipe.loss_values = 2;
         c.recipe.loss_norm = LossNorm::kToken;
       },
       "loss_norm token divides by a count, which a loss function of two values does not return"},
      {[](Case& c) {
         c.recipe.forward_only = true;
         c.recipe.dropout = 0.1;
       },
       "forward_only evaluates: dropout 0.1 must be 0"},
  };
}

std::vector<Broken> broken_attention_cases() {
  return {
      {[](Case& c) {
         c.model.attention = Attention::kCausal;
         c.model.num_key_value_heads = 3;
       },
       "num_attention_heads 8 is not divisible by num_key_value_heads 3"},
      {[](Case& c) {
         c.model.attention = Attention::kCausal;
         c.layout.tp = 3;
       },
       "num_attention_heads 8 is not divisible by tp 3"},
      {[](Case& c) {
         c.model.attention = Attention::kCausal;
         c.model.num_attention_heads = 12;
         c.model.num_key_value_heads = 3;
         c.layout.tp = 2;
       },
       "neither of num_key_value_heads 3 and tp 2 divides the other"},
      {[](Case& c) {
         c.model.attention = Attention::kCausal;
         c.model.num_key_value_heads = 1;
         c.model.head_dim = 1;
         c.layout.tp = 4;
       },
       "8 query heads and 1 key and value heads of 1 make rows of linear_qkv that tp 4 does not "
       "divide"},
      {[](Case& c) {
         c.model.attention = Attention::kCausal;
         c.model.position = Position::kRope;
         c.model.head_dim = 7;
       },
       "head_dim 7 is odd, and rope turns pairs"},
      {[](Case& c) {
         c.model.norm = Norm::kLayer;
         c.model.hidden_size = 2;
       },
       "a layer norm needs a hidden_size above 2, and it is 2"},
      {[](Case& c) {
         c.model.attention = Attention::kCausal;
         c.model.qk_norm = true;
         c.model.head_dim = 1;
       },
       "an RMS norm of each head needs a head_dim above 1, and it is 1"},
      {[](Case& c) {
         c.model.attention = Attention::kCausal;
         c.model.qk_norm = true;
         c.model.norm = Norm::kLayer;
         c.model.head_dim = 2;
       },
       "a layer norm of each head needs a head_dim above 2, and it is 2"},
  };
}

std::vector<Broken> broken_expert_cases() {
  return {
      {[](Case& c) { c.layout.ep = 2; }, "ep 2 needs experts, and num_experts is 0"},
      {[](Case& c) {
         with_experts(c);
         c.layout.ep = c.layout.dp = 3;
       },
       "num_experts 8 is not divisible by ep 3"},
      {[](Case& c) { c.model.num_experts = 1; },
       "num_experts_per_tok 2 is more than num_experts 1"},
      {[](Case& c) {
         with_experts(c);
         c.layout.tp = 2;
       },
       "experts with tp 2 need sp, or each token is routed tp times"},
      {[](Case& c) {
         with_experts(c);
         c.layout.ep = 2;
       },
       "cp 1 times dp 1 is not divisible by ep 2 (etp is that of tp)"},
      {[](Case& c) { c.layout.etp = 2; },
       "tp 1 times cp 1 times dp 1 is not divisible by etp 2 times ep 1"},
      {[](Case& c) {
         with_experts(c);
         c.model.moe_intermediate_size = 15;
         c.layout.tp = 2;
         c.layout.sp = true;
       },
       "moe_intermediate_size 15 is not divisible by tp 2, which is etp"},
      {[](Case& c) {
         with_experts(c);
         c.model.moe_intermediate_size = 15;
         c.layout.etp = c.layout.dp = 2;
       },
       "moe_intermediate_size 15 is not divisible by etp 2"},
      {[](Case& c) {
         with_experts(c);
         c.model.shared_expert_intermediate_size = 15;
         c.layout.tp = 2;
         c.layout.sp = true;
       },
       "shared_expert_intermediate_size 15 is not divisible by tp 2"},
  };
}

TEST(RulesTest, EveryRuleHasACaseThatBreaksItAndIsToldWithItsNumbers) {
  std::vector<Broken> broken = broken_dense_cases();
  for (const Broken& row : broken_context_cases()) broken.push_back(row);
  for (const Broken& row : broken_attention_cases()) broken.push_back(row);
  for (const Broken& row : broken_expert_cases()) broken.push_back(row);
  ASSERT_EQ(broken.size(), rules().size());
  for (std::size_t i = 0; i < broken.size(); ++i) {
    EXPECT_EQ(reason(broken[i].edit), broken[i].reason) << rules()[i].condition;
  }
}

TEST(RulesTest, PackingLiftsWhatDocumentsArePaddedFor) {
  const auto layout = [](Case& c) {
    c.layout.cp = 8;
    c.layout.tp = 16;
    c.layout.sp = true;
  };
  EXPECT_EQ(reason(layout), "seq 8 is not divisible by twice cp 8");
  EXPECT_EQ(reason([&](Case& c) {
              layout(c);
              c.recipe.packing = true;
            }),
            "valid");
}

TEST(RulesTest, HeadsAreSharedOutOnlyWhereThereAreHeads) {
  EXPECT_EQ(reason([](Case& c) {
              c.layout.cp = 4;
              c.layout.cp_comm = CpComm::kAllToAll;
            }),
            "valid")
      << "tiny-linear has no attention";
}

TEST(RulesTest, LayoutsOfTheModelThatDivideAreValid) {
  EXPECT_EQ(reason([](Case&) {}), "valid");
  for (const std::int64_t tp : {1, 2, 3, 4, 6, 8, 16}) {
    for (const std::int64_t dp : {1, 2, 3, 4, 6, 12}) {
      EXPECT_EQ(reason([&](Case& c) {
                  c.layout.tp = tp;
                  c.layout.dp = dp;
                }),
                "valid");
    }
  }
}

TEST(RulesTest, HeadsDoNotMatterWithoutAttention) {
  EXPECT_EQ(reason([](Case& c) { c.layout.tp = 3; }), "valid");
}

TEST(RulesTest, AWorldAboveTheLargestIsAUsageError) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = 64;
  c.layout.dp = 64;
  EXPECT_NO_THROW(check_world(c));
  c.layout.dp = 65;
  EXPECT_THROW(check_world(c), UsageError);
  c.layout.tp = INT64_MAX;
  EXPECT_THROW(check_world(c), UsageError);
}

TEST(RulesTest, ATensorThatNoMachineHoldsIsAUsageErrorBeforeItIsMade) {
  Case c = preset_case("tiny-dense");
  c.recipe.seq = 1048576;
  c.recipe.global_batch = 1;
  try {
    check_world(c);
    FAIL() << "8 heads of 2^40 scores";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "world: attention is micro_batch x num_attention_heads x seq x seq, which is "
                 "8796093022208 elements; the largest tensor has 68719476736 elements");
  }
  c.model.attention = Attention::kNone;
  EXPECT_NO_THROW(check_world(c));
}

TEST(RulesTest, AProductOfSizesThatOverflowsIsAUsageError) {
  Case c = preset_case("tiny-linear");
  c.model.hidden_size = INT64_MAX / 2;
  EXPECT_THROW(check_world(c), UsageError);
}

}  // namespace
}  // namespace lockstep::test
