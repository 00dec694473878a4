// The table of fields: round trips, refusals, and what is built.
#include "core/config/fields.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "core/base/errors.h"
#include "core/config/presets.h"

namespace lockstep::test {
namespace {

const Field& named(const std::string& name) {
  const Field* field = find_field(name);
  if (field == nullptr) throw InternalError("no field " + name);
  return *field;
}

std::string error_of(const std::string& name, const Value& value) {
  Case c = preset_case("tiny-linear");
  try {
    set_field(c, named(name), value);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(FieldsTest, TheFirstSeedThatADoubleCannotHoldIsRefused) {
  EXPECT_EQ(error_of("seed", std::int64_t{9007199254740992}), "no error");
  EXPECT_NE(error_of("seed", std::int64_t{9007199254740993}), "no error");
}

TEST(FieldsTest, EveryFieldOfTheContractIsThere) {
  for (const char* name : {"tp",
                           "sp",
                           "cp",
                           "cp_comm",
                           "cp_inner",
                           "pp",
                           "vpp",
                           "ep",
                           "etp",
                           "dp",
                           "dispatcher",
                           "zero",
                           "world",
                           "edp",
                           "num_micro_batches",
                           "moe",
                           "dtype",
                           "optimizer",
                           "lr",
                           "adam_eps",
                           "betas",
                           "weight_decay",
                           "clip",
                           "loss_norm",
                           "loss_values",
                           "mask",
                           "global_batch",
                           "micro_batch",
                           "seq",
                           "steps",
                           "schedule",
                           "step_api",
                           "recompute",
                           "overlap",
                           "packing",
                           "dropout",
                           "label_smoothing",
                           "bucket_elements",
                           "reduction_order",
                           "completion",
                           "forward_only",
                           "seed",
                           "schedule_seed",
                           "hidden_size",
                           "num_hidden_layers",
                           "num_attention_heads",
                           "num_key_value_heads",
                           "head_dim",
                           "intermediate_size",
                           "vocab_size",
                           "num_experts",
                           "sliding_window",
                           "attention_sink",
                           "qk_norm",
                           "tied",
                           "bias",
                           "norm",
                           "mlp",
                           "position",
                           "gather_output",
                           "mtp",
                           "aux_loss"}) {
    EXPECT_NE(find_field(name), nullptr) << name;
  }
  EXPECT_EQ(find_field("tq"), nullptr);
}

TEST(FieldsTest, NamesAreUniqueAndSectionsInOrder) {
  std::set<std::string> names;
  FieldSection last = FieldSection::kModel;
  for (const Field& field : fields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_LE(last, field.section) << field.name;
    EXPECT_FALSE(field.summary.empty()) << field.name;
    last = field.section;
  }
}

TEST(FieldsTest, EveryDefaultIsALegalValueThatComesBackFromTheCase) {
  Case c = default_case();
  for (const Field& field : fields()) {
    if (!field.set) continue;
    EXPECT_EQ(checked_value(field, field.default_value), field.default_value) << field.name;
    EXPECT_EQ(field.get(c), field.default_value) << field.name;
  }
}

TEST(FieldsTest, EveryChoiceComesBackAsItWasSet) {
  Case c = default_case();
  for (const Field& field : fields()) {
    if (field.type != FieldType::kChoice) continue;
    for (const std::string& choice : field.choices) {
      field.set(c, choice);
      EXPECT_EQ(field.get(c), Value(choice)) << field.name;
    }
  }
}

TEST(FieldsTest, SettingOneFieldChangesNoOther) {
  for (const Field& changed : fields()) {
    if (changed.type != FieldType::kInteger || !changed.set) continue;
    Case c = default_case();
    changed.set(c, std::int64_t{7});
    for (const Field& field : fields()) {
      if (!field.set) continue;
      const Value expected =
          field.name == changed.name ? Value(std::int64_t{7}) : field.default_value;
      EXPECT_EQ(field.get(c), expected) << changed.name << " " << field.name;
    }
  }
}

TEST(FieldsTest, WhatIsBuiltIsALegalValue) {
  for (const Field& field : fields()) {
    if (field.type != FieldType::kChoice) continue;
    for (const std::string& built : field.built) {
      EXPECT_NO_THROW(checked_value(field, built)) << field.name;
    }
  }
}

TEST(FieldsTest, ValuesOfTheWrongTypeAreRefused) {
  EXPECT_EQ(error_of("tp", std::string("two")),
            "tp: expected an integer from 1 to 4096, got 'two'");
  EXPECT_EQ(error_of("tp", 2.0), "tp: expected an integer from 1 to 4096, got 2.0");
  EXPECT_EQ(error_of("sp", std::int64_t{1}), "sp: expected true or false, got 1");
  EXPECT_EQ(error_of("lr", std::string("fast")),
            "lr: expected a number from 0 to 1000, got 'fast'");
  EXPECT_EQ(error_of("mask", true),
            "mask: expected one of full, uneven, single, empty, none, "
            "varying, got true");
  EXPECT_EQ(error_of("betas", std::vector<double>{0.9}),
            "betas: expected a list of 2 numbers from 0 to 0.999999, got [0.9]");
}

TEST(FieldsTest, ValuesOutOfRangeAreRefused) {
  EXPECT_EQ(error_of("tp", std::int64_t{0}), "tp: expected an integer from 1 to 4096, got 0");
  EXPECT_EQ(error_of("dp", std::int64_t{4097}), "dp: expected an integer from 1 to 4096, got 4097");
  EXPECT_EQ(error_of("lr", -0.5), "lr: expected a number from 0 to 1000, got -0.5");
  EXPECT_NE(error_of("lr", std::numeric_limits<double>::quiet_NaN()), "no error");
}

TEST(FieldsTest, AnUnknownChoiceNamesTheNearest) {
  EXPECT_EQ(error_of("mask", std::string("uneve")),
            "mask: expected one of full, uneven, single, empty, none, varying, got 'uneve'; did "
            "you mean 'uneven'?");
  EXPECT_EQ(
      error_of("overlap", std::vector<std::string>{"gard"}),
      "overlap: expected a list of names out of grad, param, tensor, p2p, dispatch, got 'gard'; "
      "did you mean 'grad'?");
}

TEST(FieldsTest, AnIntegerIsTakenForAReal) {
  Case c = preset_case("tiny-linear");
  set_field(c, named("lr"), std::int64_t{1});
  EXPECT_EQ(c.recipe.lr, 1.0);
}

TEST(FieldsTest, KnownValuesThatAreNotBuiltSaySo) {
  EXPECT_EQ(error_of("zero", std::int64_t{1}), "zero: 1 is not built yet; built: 0");
  EXPECT_EQ(error_of("pp", std::int64_t{2}), "pp: 2 is not built yet; built: 1");
  EXPECT_EQ(error_of("schedule", std::string("1f1b")),
            "schedule: 1f1b is not built yet; built: none");
  EXPECT_EQ(error_of("overlap", std::vector<std::string>{"grad", "param"}),
            "overlap: [grad, param] is not built yet; built: [], [grad]");
}

TEST(FieldsTest, ADerivedFieldCannotBeSet) {
  EXPECT_EQ(error_of("world", std::int64_t{2}),
            "world: is derived from other fields and cannot be set");
}

TEST(FieldsTest, TheFirstUnbuiltFieldOfACaseIsNamed) {
  EXPECT_NO_THROW(check_built(preset_case("tiny-linear")));
  EXPECT_NO_THROW(check_built(default_case()));
  Case c = default_case();
  c.model.num_experts = 8;
  c.layout.pp = 2;
  try {
    check_built(c);
    FAIL() << "neither experts nor pp are built";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "num_experts: 8 is not built yet; built: 0");
  }
}

TEST(FieldsTest, NumMicroBatchesSetsTheGlobalBatch) {
  Case c = preset_case("tiny-linear");
  c.layout.dp = 3;
  c.recipe.micro_batch = 2;
  set_num_micro_batches(c, 4);
  EXPECT_EQ(c.recipe.global_batch, 24);
  EXPECT_EQ(num_micro_batches(c), 4);
  EXPECT_THROW(set_num_micro_batches(c, INT64_MAX / 2), UsageError);
  EXPECT_THROW(set_num_micro_batches(c, 1048576), UsageError);
  EXPECT_THROW(set_num_micro_batches(c, 0), UsageError);
}

TEST(FieldsTest, ValuesAreShownAsYamlAndJsonShowThem) {
  EXPECT_EQ(to_text(true), "true");
  EXPECT_EQ(to_text(std::int64_t{12}), "12");
  EXPECT_EQ(to_text(0.001), "0.001");
  EXPECT_EQ(to_text(std::string("uneven")), "uneven");
  EXPECT_EQ(to_text(std::vector<double>{0.9, 0.999}), "[0.9, 0.999]");
  EXPECT_EQ(to_text(std::vector<std::string>{}), "[]");
}

TEST(FieldsTest, ExpertSizesFollowTp) {
  Case c = default_case();
  c.layout.tp = 4;
  c.layout.dp = 3;
  EXPECT_EQ(expert_tensor_parallel(c.layout), 4);
  EXPECT_EQ(expert_data_parallel(c.layout), 3);
  c.layout.etp = 1;
  EXPECT_EQ(expert_data_parallel(c.layout), 12);
}

TEST(FieldsTest, AWidthOfOneIsRefusedBecauseItsNormLeavesOnlyRounding) {
  EXPECT_THROW(checked_value(named("hidden_size"), std::int64_t{1}), UsageError);
  EXPECT_NO_THROW(checked_value(named("hidden_size"), std::int64_t{2}));
}

TEST(PresetsTest, AllButTheMixtureOfExpertsAreBuilt) {
  EXPECT_EQ(presets().size(), 5U);
  for (const Preset& preset : presets()) EXPECT_EQ(preset.built, preset.name != "tiny-moe");
  EXPECT_THROW(preset_case("tiny-moe"), UsageError);
}

TEST(PresetsTest, EveryValueOfEveryPresetIsLegal) {
  for (const Preset& preset : presets()) {
    for (const auto& [name, value] : preset.values) {
      EXPECT_EQ(checked_value(named(name), value), value) << preset.name << " " << name;
    }
  }
}

TEST(PresetsTest, TinyLinearHasTheSizesOfTheContract) {
  const Case c = preset_case("tiny-linear");
  EXPECT_EQ(c.model.preset, "tiny-linear");
  EXPECT_EQ(c.model.hidden_size, 32);
  EXPECT_EQ(c.model.intermediate_size, 48);
  EXPECT_EQ(c.model.vocab_size, 90);
  EXPECT_EQ(c.model.num_hidden_layers, 2);
  EXPECT_EQ(c.recipe.seq, 8);
  EXPECT_EQ(c.recipe.global_batch, 12);
  EXPECT_EQ(c.recipe.optimizer, Optimizer::kSgd);
  EXPECT_EQ(c.recipe.lr, 0.1);
  EXPECT_EQ(c.recipe.mask, Mask::kUneven);
}

TEST(PresetsTest, TinyDenseHasTheSizesOfTheContract) {
  const Case c = preset_case("tiny-dense");
  EXPECT_EQ(c.model.hidden_size, 32);
  EXPECT_EQ(c.model.num_attention_heads, 8);
  EXPECT_EQ(c.model.num_key_value_heads, 2);
  EXPECT_EQ(c.model.head_dim, 8);
  EXPECT_EQ(c.model.intermediate_size, 48);
  EXPECT_EQ(c.model.num_hidden_layers, 2);
  EXPECT_EQ(c.model.vocab_size, 90);
  EXPECT_TRUE(c.model.qk_norm);
  EXPECT_FALSE(c.model.tied);
  EXPECT_EQ(c.recipe.seq, 32);
  EXPECT_EQ(c.recipe.global_batch, 12);
  EXPECT_EQ(c.recipe.steps, 2);
  EXPECT_EQ(c.recipe.optimizer, Optimizer::kAdamW);
  EXPECT_EQ(c.recipe.lr, 1e-3);
  EXPECT_EQ(c.recipe.adam_eps, 1e-8);
  EXPECT_EQ(c.recipe.weight_decay, 0.1);
  EXPECT_EQ(c.recipe.clip, 0.1);
  EXPECT_EQ(c.recipe.mask, Mask::kUneven);
}

TEST(PresetsTest, AnUnknownPresetNamesTheNearest) {
  try {
    preset_case("tiny-liner");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'tiny-linear'?"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep::test
