// Reading a spec: what is accepted, and every mistake with its line, column and what would be
// right.
#include "matrix/spec/spec.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/errors.h"
#include "matrix/spec/expand.h"

namespace lockstep::matrix::test {
namespace {

const KnownCheck kChecks[] = {{"loss", true}, {"grads", true}, {"norms", false}};

const std::string kHead = "lockstep: 1\nname: s\nmodel: {preset: tiny-linear}\n";

Spec spec_of(const std::string& text) { return parse_spec(text, "s.yaml", kChecks); }

std::string error_of(const std::string& text) {
  try {
    expand(spec_of(text));
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

// Of a spec with these lines after its three first ones.
std::string error_after_head(const std::string& lines) { return error_of(kHead + lines); }

TEST(SpecTest, ASpecOfVersionNameModelAndAxesRuns) {
  const Spec spec = spec_of(kHead + "axes: {tp: [1, 2]}\n");
  EXPECT_EQ(spec.name, "s");
  EXPECT_EQ(spec.preset, "tiny-linear");
  ASSERT_EQ(spec.axes.size(), 1U);
  EXPECT_EQ(spec.axes[0].field->name, "tp");
  EXPECT_EQ(spec.axes[0].values.size(), 2U);
  EXPECT_FALSE(spec.sample.has_value());
  EXPECT_TRUE(spec.checks.empty());
  EXPECT_EQ(expand(spec).size(), 2U);
}

TEST(SpecTest, EveryKeyIsRead) {
  const Spec spec = spec_of(kHead +
                            "recipe: {steps: 1, lr: 1e-3}\n"
                            "axes:\n  tp: [1, 2]\n  mask: [full, uneven]\n"
                            "where: [\"world <= 16\", tp > 0]\n"
                            "include: [{tp: 8, dp: 1}]\n"
                            "exclude: [{tp: 2, mask: uneven}]\n"
                            "expand: {sample: 3, seed: 7}\n"
                            "checks: [loss, grads]\n");
  EXPECT_EQ(spec.where.size(), 2U);
  EXPECT_EQ(spec.include.at(0).settings.size(), 2U);
  EXPECT_EQ(spec.exclude.at(0).settings.size(), 2U);
  EXPECT_EQ(spec.sample.value().count, 3);
  EXPECT_EQ(spec.sample.value().seed, 7);
  EXPECT_EQ(spec.checks, (std::vector<std::string>{"loss", "grads"}));
  const Case c = build_case(spec, {});
  EXPECT_EQ(c.recipe.steps, 1);
  EXPECT_EQ(c.recipe.lr, 1e-3);
}

TEST(SpecTest, AnchorsAndAliasesAreFollowed) {
  const Spec spec = spec_of(kHead + "axes:\n  tp: &sizes [1, 2]\n  dp: *sizes\n");
  EXPECT_EQ(expand(spec).size(), 4U);
}

TEST(SpecTest, TheModelsFieldsCanBeOverridden) {
  const Spec spec = spec_of(
      "lockstep: 1\nname: s\nmodel: {hidden_size: 16, preset: tiny-linear}\naxes: {tp: [1]}\n");
  EXPECT_EQ(build_case(spec, {}).model.hidden_size, 16);
  EXPECT_EQ(build_case(spec, {}).model.intermediate_size, 48);
}

TEST(SpecErrorTest, TextThatIsNoSpecIsRefused) {
  EXPECT_EQ(error_of(""), "s.yaml:1:1: spec is empty; start with 'lockstep: 1'");
  EXPECT_EQ(error_of("# only a comment\n"), "s.yaml:1:1: spec is empty; start with 'lockstep: 1'");
  EXPECT_EQ(error_of("- a\n- b\n"),
            "s.yaml:1:1: expected a map of keys, as in 'lockstep: 1', got a list");
  EXPECT_EQ(error_of("hello"),
            "s.yaml:1:1: expected a map of keys, as in 'lockstep: 1', got 'hello'");
  EXPECT_EQ(error_of("lockstep: 1\naxes: {tp: [1, 2\n").substr(0, 11), "s.yaml:3:1:");
  EXPECT_NE(error_of("lockstep: 1\naxes: {tp: [1, 2\n").find("not YAML: "), std::string::npos);
  EXPECT_NE(error_of("a: b: c\n").find("s.yaml:1:5: not YAML: "), std::string::npos);
  const std::string second = "not YAML: text after the end of the document; a spec is one document";
  EXPECT_EQ(error_of("lockstep: 1\n---\nlockstep: 1\n"), "s.yaml:2:1: " + second);
  EXPECT_EQ(error_of(", uneven])\nname: s\n"), "s.yaml:1:1: " + second);
}

TEST(SpecErrorTest, TheVersionAndTheNameAreNeeded) {
  EXPECT_EQ(error_of("name: s\n"),
            "s.yaml:1:1: key 'lockstep' is missing; start with 'lockstep: 1'");
  EXPECT_EQ(error_of("lockstep: 2\nname: s\n"),
            "s.yaml:1:11: lockstep: expected 1, the version of this format, got '2'");
  EXPECT_EQ(error_of("lockstep: \"1\"\nname: s\n"),
            "s.yaml:1:11: lockstep: expected 1, the version of this format, got the text '1'");
  EXPECT_EQ(error_of("lockstep: 1\nmodel: {preset: tiny-linear}\n"),
            "s.yaml:1:1: key 'name' is missing");
  EXPECT_EQ(error_of("lockstep: 1\nname: a/b\n"),
            "s.yaml:2:7: name: expected at most 100 letters, digits, '-', '_' and '.', starting "
            "with a letter or digit, got 'a/b'");
  EXPECT_EQ(error_of("lockstep: 1\nname:\n"), "s.yaml:2:1: name: expected text, got nothing");
}

TEST(SpecErrorTest, UnknownKeysNameTheNearest) {
  EXPECT_EQ(error_after_head("axis: {tp: [1]}\n"),
            "s.yaml:4:1: unknown key 'axis'; did you mean 'axes'?");
  EXPECT_EQ(error_after_head("zzzzzzz: 1\n"),
            "s.yaml:4:1: unknown key 'zzzzzzz'; it is one of lockstep, name, model, recipe, axes, "
            "where, include, exclude, expand, checks");
  EXPECT_EQ(error_after_head("axes:\n  tp: [1]\n  ddp: [2]\n"),
            "s.yaml:6:3: axes: unknown field 'ddp'; did you mean 'dp'?");
  EXPECT_EQ(error_after_head("recipe: {stps: 1}\n"),
            "s.yaml:4:10: recipe: unknown field 'stps'; did you mean 'steps'?");
  EXPECT_EQ(error_after_head("exclude: [{mask: full, tpp: 1}]\n"),
            "s.yaml:4:24: exclude: unknown field 'tpp'; did you mean 'tp'?");
  EXPECT_EQ(error_after_head("<<: {name: x}\n").substr(0, 30), "s.yaml:4:1: unknown key '<<'; ");
}

TEST(SpecErrorTest, AFieldInTheWrongPartSaysWhereItBelongs) {
  EXPECT_EQ(error_after_head("recipe: {tp: 2}\n"),
            "s.yaml:4:10: recipe: 'tp' belongs under axes, as in 'tp: [...]'");
  EXPECT_EQ(error_after_head("recipe: {hidden_size: 2}\n"),
            "s.yaml:4:10: recipe: 'hidden_size' belongs under model");
  EXPECT_EQ(error_of("lockstep: 1\nname: s\nmodel: {lr: 2}\n"),
            "s.yaml:3:9: model: 'lr' belongs under recipe");
  EXPECT_EQ(error_after_head("axes: {world: [2]}\n"),
            "s.yaml:4:8: axes: world is derived from other fields; use it in 'where'");
}

TEST(SpecErrorTest, ValuesOfTheWrongTypeAreRefused) {
  const auto axis = [](const std::string& value) {
    return error_after_head("axes: {tp: [" + value + "]}\n");
  };
  const std::string at = "s.yaml:4:13: tp: expected an integer from 1 to 4096, got ";
  EXPECT_EQ(axis("two"), at + "'two'");
  EXPECT_EQ(axis("1.0"), at + "'1.0'");
  EXPECT_EQ(axis("\"2\""), at + "the text '2'");
  EXPECT_EQ(axis("0x10"), at + "'0x10'");
  EXPECT_EQ(axis("010"), at + "'010'");
  EXPECT_EQ(axis("1_000"), at + "'1_000'");
  EXPECT_EQ(axis("1e1"), at + "'1e1'");
  EXPECT_EQ(axis("+2"), at + "'+2'");
  EXPECT_EQ(axis("~"), at + "nothing");
  EXPECT_EQ(axis("null"), at + "nothing");
  EXPECT_EQ(axis("true"), at + "'true'");
  EXPECT_EQ(axis("[1]"), at + "a list");
  EXPECT_EQ(axis("{a: 1}"), at + "a map");
  EXPECT_EQ(axis("99999999999999999999"), at + "'99999999999999999999', which is too large");
  EXPECT_EQ(axis("0"), "s.yaml:4:13: tp: expected an integer from 1 to 4096, got 0");
  EXPECT_EQ(axis("4097"), "s.yaml:4:13: tp: expected an integer from 1 to 4096, got 4097");
  EXPECT_EQ(error_after_head("axes: {sp: [yes]}\n"),
            "s.yaml:4:13: sp: expected true or false, got 'yes'");
  EXPECT_EQ(error_after_head("axes: {mask: [unevn]}\n"),
            "s.yaml:4:15: mask: expected one of full, uneven, single, empty, none, varying, got "
            "'unevn'; did you mean 'uneven'?");
}

TEST(SpecErrorTest, RealsAreReadStrictly) {
  const auto lr = [](const std::string& value) {
    return error_after_head("recipe: {lr: " + value + "}\naxes: {tp: [1]}\n");
  };
  const std::string at = "s.yaml:4:14: lr: expected a number from 0 to 1000, got ";
  for (const char* good : {"1", "0.5", "1e-3", "1.5E-3", "1.0"}) EXPECT_EQ(lr(good), "no error");
  EXPECT_EQ(lr(".inf"), at + "'.inf'");
  EXPECT_EQ(lr("nan"), at + "'nan'");
  EXPECT_EQ(lr("inf"), at + "'inf'");
  EXPECT_EQ(lr("0.1x"), at + "'0.1x'");
  EXPECT_EQ(lr("1e999"), at + "'1e999', which is too large");
  EXPECT_EQ(lr("-1"), at + "-1");
  EXPECT_EQ(lr("'0.1'"), at + "the text '0.1'");
}

TEST(SpecErrorTest, KeysThatStandTwiceAreRefused) {
  EXPECT_EQ(error_after_head("axes:\n  tp: [1]\n  dp: [2]\n  tp: [2]\n"),
            "s.yaml:7:3: key 'tp' stands twice; it is first on line 5");
  EXPECT_EQ(error_after_head("name: t\n"),
            "s.yaml:4:1: key 'name' stands twice; it is first on line 2");
}

TEST(SpecErrorTest, AxesNeedValuesThatDiffer) {
  EXPECT_EQ(error_after_head("axes: {tp: []}\n"),
            "s.yaml:4:12: axes: tp: has no values; give at least one");
  EXPECT_EQ(error_after_head("axes: {tp: 4}\n"),
            "s.yaml:4:12: axes: tp: expected a list of values, as in [1], got '4'");
  EXPECT_EQ(error_after_head("axes: {tp: [1, 2, 1]}\n"), "s.yaml:4:19: axes: tp: 1 stands twice");
  EXPECT_EQ(error_after_head("axes: {lr: [1, 1.0]}\n"), "s.yaml:4:16: axes: lr: 1 stands twice");
  EXPECT_EQ(error_after_head("axes: [tp]\n"),
            "s.yaml:4:7: axes: expected a map of fields, as in {tp: ...}, got a list");
}

TEST(SpecErrorTest, ConditionsNameTheColumnInTheFile) {
  EXPECT_EQ(error_after_head("where: [\"wrld <= 16\"]\n"),
            "s.yaml:4:10: where: unknown field 'wrld'; did you mean 'world'?, in 'wrld <= 16'");
  EXPECT_EQ(error_after_head("where:\n  - tp > 1\n  - tp = 2\n"),
            "s.yaml:6:8: where: '=' is no operator; write '==' to compare, in 'tp = 2'");
  EXPECT_EQ(error_after_head("where: tp > 1\n"),
            "s.yaml:4:8: where: expected a list, as in [\"world <= 16\"], got 'tp > 1'");
  EXPECT_EQ(error_after_head("axes: {tp: [1, 2]}\nwhere: [\"4 % (tp - 2) == 0\"]\n"),
            "s.yaml:5:9: where: modulo by zero for case tp2, in '4 % (tp - 2) == 0'");
}

TEST(SpecErrorTest, RowsNameFields) {
  EXPECT_EQ(error_after_head("include: {tp: 4}\n"),
            "s.yaml:4:10: include: expected a list, as in [{tp: 4}], got a map");
  EXPECT_EQ(error_after_head("include: [{}]\n"),
            "s.yaml:4:11: include: a row names at least one field");
  EXPECT_EQ(error_after_head("include: [4]\n"),
            "s.yaml:4:11: include: expected a map of fields, as in {tp: ...}, got '4'");
}

TEST(SpecErrorTest, WhatIsKnownButNotBuiltSaysSo) {
  EXPECT_EQ(error_after_head("axes: {zero: [0, 1]}\n"),
            "s.yaml:4:18: zero: 1 is not built yet; built: 0");
  EXPECT_EQ(error_after_head("recipe: {schedule: gpipe}\n"),
            "s.yaml:4:20: schedule: gpipe is not built yet; built: none");
  EXPECT_EQ(error_after_head("expand: {strength: 2}\n"),
            "s.yaml:4:10: expand: 'strength' is not built yet; use 'full' or '{sample: N}'");
  EXPECT_EQ(error_after_head("checks: [loss, norms]\n"),
            "s.yaml:4:16: checks: 'norms' is not built yet");
  EXPECT_EQ(error_of("lockstep: 1\nname: s\nmodel: {hf: x}\n"),
            "s.yaml:3:9: model: 'hf' is not built yet; name a preset");
  EXPECT_EQ(error_of("lockstep: 1\nname: s\nmodel: {preset: tiny-moe}\n"),
            "s.yaml:3:17: preset: tiny-moe is not built yet");
}

TEST(SpecErrorTest, UnknownPresetsAndChecksNameTheNearest) {
  EXPECT_EQ(error_of("lockstep: 1\nname: s\nmodel: {preset: tiny-linaer}\n"),
            "s.yaml:3:17: preset: expected one of tiny-linear, tiny-dense, tiny-context, "
            "tiny-pipeline, tiny-moe, got 'tiny-linaer'; did you mean 'tiny-linear'?");
  EXPECT_EQ(error_after_head("checks: [los]\n"),
            "s.yaml:4:10: checks: unknown check 'los'; did you mean 'loss'?");
  EXPECT_EQ(error_after_head("checks: [loss, loss]\n"), "s.yaml:4:16: checks: 'loss' stands twice");
  EXPECT_EQ(error_after_head("checks: []\n"),
            "s.yaml:4:9: checks: expected 'default' or a list of checks, got an empty list");
}

TEST(SpecErrorTest, ExpandIsFullOrASample) {
  EXPECT_EQ(error_after_head("expand: half\n"),
            "s.yaml:4:9: expand: expected 'full' or '{sample: N, seed: S}', got 'half'");
  EXPECT_EQ(error_after_head("expand: {seed: 1}\n"), "s.yaml:4:9: expand: key 'sample' is missing");
  EXPECT_EQ(error_after_head("expand: {sample: 0}\n"),
            "s.yaml:4:18: expand: sample: expected an integer of at least 1, got '0'");
  EXPECT_EQ(error_after_head("expand: {smple: 3}\n"),
            "s.yaml:4:10: expand: unknown key 'smple'; did you mean 'sample'?");
}

TEST(SpecErrorTest, TheBatchIsGivenOnce) {
  const std::string message = "give global_batch or num_micro_batches, never both";
  EXPECT_EQ(error_after_head("recipe: {global_batch: 12, num_micro_batches: 3}\n"),
            "s.yaml:4:28: " + message);
  EXPECT_EQ(error_after_head("recipe: {global_batch: 12}\naxes: {num_micro_batches: [1, 2]}\n"),
            "s.yaml:5:8: " + message);
  EXPECT_EQ(error_after_head("include: [{global_batch: 12, num_micro_batches: 3}]\n"),
            "s.yaml:4:30: " + message);
}

TEST(SpecErrorTest, WorldsAndProductsThatAreTooLargeAreRefused) {
  EXPECT_EQ(error_after_head("axes:\n  tp: [1, 4096]\n  dp: [1, 2]\n"),
            "s.yaml:5:3: case tp4096.dp2: world: tp 4096 cp 1 pp 1 dp 2 make 8192 ranks; the "
            "largest world is 4096");
  std::string seeds = "[0";
  for (int i = 1; i < 1001; ++i) seeds += "," + std::to_string(i);
  seeds += "]";
  EXPECT_EQ(error_after_head("axes:\n  seed: &s " + seeds + "\n  schedule_seed: *s\n"),
            "s.yaml:5:3: axes: 1002001 combinations are more than 1000000; add 'expand: "
            "{sample: N}'");
  EXPECT_EQ(error_after_head("axes: {num_micro_batches: [1048576], dp: [2]}\n"),
            "s.yaml:4:8: num_micro_batches: 1048576 times dp 2 times micro_batch 1 is no "
            "global_batch, which is an integer from 1 to 1048576");
}

TEST(SpecErrorTest, TagsBombsAndOddKeysAreRefused) {
  EXPECT_NE(error_after_head("axes: {tp: [!!str 2]}\n").find("is not supported"),
            std::string::npos);
  EXPECT_EQ(error_after_head("? [a]\n: b\n"), "s.yaml:4:3: a key must be a name");
  std::string bomb = "a: &a0 [x, x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb +=
        "k" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last + ", " + last + "]\n";
  }
  EXPECT_NE(error_of(bomb).find("more than 100000 values"), std::string::npos);
  EXPECT_NE(error_of("lockstep: 1\na: " + std::string(100000, '[')), "no error");
  EXPECT_EQ(error_after_head("axes: &a {tp: [1], dp: *a}\n"),
            "s.yaml:4:16: nested deeper than 32 levels");
}

TEST(SpecErrorTest, AnErrorIsOneLine) {
  EXPECT_EQ(error_after_head("axes: {tp: [\"a\\nb\\x01\"]}\n"),
            "s.yaml:4:13: tp: expected an integer from 1 to 4096, got the text 'a\\nb\\x01'");
}

TEST(SpecFileTest, AFileThatCannotBeReadIsAnError) {
  EXPECT_THROW(load_spec("no/such/spec.yaml", kChecks), UsageError);
  try {
    load_spec(std::filesystem::temp_directory_path().string(), kChecks);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("is a folder"), std::string::npos);
  }
}

TEST(SpecFileTest, AFileIsReadAndNamedInErrors) {
  const std::string path = testing::TempDir() + "lockstep_spec_test.yaml";
  std::ofstream(path) << kHead << "axes: {tp: [1, 2]}\n";
  EXPECT_EQ(load_spec(path, kChecks).axes.size(), 1U);
  std::ofstream(path) << kHead << "axis: 1\n";
  try {
    load_spec(path, kChecks);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()).rfind(path + ":4:1: unknown key 'axis'", 0), 0U);
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace lockstep::matrix::test
