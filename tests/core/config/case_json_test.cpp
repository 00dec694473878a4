// A case as JSON and back, its id, and the key that cases of one reference share.
#include "core/config/case_json.h"

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "core/config/fields.h"
#include "core/config/presets.h"
#include "core/config/rules.h"

namespace lockstep::test {
namespace {

std::string error_of(const std::string& text) {
  try {
    case_from_json(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(CaseJsonTest, EveryFieldAndTheDefectsComeBack) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = 4;
  c.recipe.lr = 0.1 + 0.2;  // needs 17 digits
  c.recipe.seed = 9007199254740991;
  c.defects = {"B27-dp-reduction-missing"};
  const std::string text = case_to_json(c);
  const Case back = case_from_json(text);
  for (const Field& field : fields()) EXPECT_EQ(field.get(back), field.get(c)) << field.name;
  EXPECT_EQ(back.defects, c.defects);
  EXPECT_EQ(case_to_json(back), text);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(CaseJsonTest, MissingFieldsTakeThePresetsValue) {
  const Case c = case_from_json(R"({"tp": 2, "preset": "tiny-linear", "lr": 1})");
  EXPECT_EQ(c.layout.tp, 2);
  EXPECT_EQ(c.recipe.lr, 1.0);
  EXPECT_EQ(c.recipe.seq, 8);
}

TEST(CaseJsonTest, MicroBatchesMayStandForTheGlobalBatch) {
  const Case c = case_from_json(R"({"preset": "tiny-linear", "num_micro_batches": 5, "dp": 3})");
  EXPECT_EQ(c.recipe.global_batch, 15);
  EXPECT_EQ(error_of(R"({"preset": "tiny-linear", "num_micro_batches": 5, "global_batch": 12})"),
            "num_micro_batches: give it or global_batch, not both");
}

TEST(CaseJsonTest, BadInputIsOneClearError) {
  EXPECT_NE(error_of("{").find("case: not JSON: parse error at line 1, column 2"),
            std::string::npos);
  EXPECT_NE(error_of("").find("case: not JSON"), std::string::npos);
  EXPECT_EQ(error_of("[1]"), "case: expected a JSON object, as in {\"tp\": 2}");
  EXPECT_EQ(error_of(R"({"preset": "tiny-linear", "ttp": 2})"),
            "case: unknown key 'ttp'; did you mean 'tp'?");
  EXPECT_EQ(error_of(R"({"preset": "tiny-linear", "tp": 2, "tp": 4})"),
            "case: key 'tp' stands twice");
  EXPECT_EQ(error_of(R"({"preset": "tiny-linear", "tp": "2"})"),
            "tp: expected an integer from 1 to 4096, got '2'");
  EXPECT_EQ(error_of(R"({"preset": "tiny-linear", "tp": null})"),
            "tp: expected an integer from 1 to 4096, got null");
  EXPECT_EQ(error_of(R"({"preset": "tiny-linear", "seed": 18446744073709551615})"),
            "seed: 18446744073709551615 is too large");
  EXPECT_NE(error_of(R"({"preset": "tiny-linear", "seed": 99999999999999999999999})"), "no error");
  EXPECT_EQ(error_of(R"({"preset": 7})"), "preset: expected text, got 7");
  EXPECT_EQ(error_of(R"({"preset": "tiny-linear", "world": 2})"),
            "world: is derived from other fields and cannot be set");
  EXPECT_EQ(error_of(R"({"preset": "tiny-linear", "defects": "x"})"),
            "defects: expected a list of ids");
  EXPECT_EQ(error_of(R"({"preset": "tiny-linear", "zero": 1})"),
            "zero: 1 is not built yet; built: 0");
  EXPECT_EQ(error_of(R"({"preset": "tiny-linear", "tp": "a\nb"})"),
            "tp: expected an integer from 1 to 4096, got 'a\\nb'");
  EXPECT_EQ(error_of("{}"), "no error");
  EXPECT_EQ(error_of(R"({"preset": "tiny-linear", "tp": 4096, "dp": 2})"),
            "world: tp 4096 cp 1 pp 1 dp 2 make 8192 ranks; the largest world is 4096");
}

TEST(CaseJsonTest, TheIdCoversTheWholeCaseWithItsDefects) {
  Case c = preset_case("tiny-linear");
  const std::string id = case_id(c);
  EXPECT_EQ(id.size(), 16U);
  EXPECT_EQ(id, case_id(c));
  c.defects = {"B27-dp-reduction-missing"};
  EXPECT_NE(case_id(c), id);
  c.defects.clear();
  c.recipe.schedule_seed += 1;
  EXPECT_NE(case_id(c), id);
}

TEST(CaseJsonTest, TheReferenceKeyLeavesOutLayoutAndOrders) {
  const Case base = preset_case("tiny-linear");
  const std::string key = reference_key(base);
  Case c = base;
  c.layout.tp = 4;
  c.layout.dp = 3;
  c.recipe.reduction_order = ReductionOrder::kTree;
  c.recipe.completion = Completion::kEarly;
  c.recipe.step_api = StepApi::kSplit;
  c.recipe.schedule = Schedule::k1F1B;
  c.recipe.recompute = Recompute::kSelective;
  c.recipe.overlap = {"grad"};
  c.recipe.bucket_elements = 100;
  c.recipe.schedule_seed = 5;
  c.defects = {"B27-dp-reduction-missing"};
  EXPECT_EQ(reference_key(c), key);
  c.recipe.seed += 1;
  EXPECT_NE(reference_key(c), key);
  c = base;
  c.recipe.mask = Mask::kFull;
  EXPECT_NE(reference_key(c), key);
  c = base;
  c.model.hidden_size = 64;
  EXPECT_NE(reference_key(c), key);
  c = base;
  c.recipe.micro_batch = 2;
  EXPECT_NE(reference_key(c), key);
}

Case spread_case() {
  Case c = preset_case("tiny-dense");
  c.layout.tp = 2;
  c.layout.sp = true;
  c.layout.dp = 3;
  c.recipe.dtype = Precision::kBF16;
  c.recipe.overlap = {"grad"};
  c.recipe.step_api = StepApi::kSplit;
  c.recipe.bucket_elements = 1;
  c.recipe.reduction_order = ReductionOrder::kTree;
  c.recipe.seed = 7;
  c.defects = {"B27-dp-reduction-missing"};
  return c;
}

TEST(SingleDevice, RunsTheSameReferenceOnOneRankWithoutDefects) {
  const Case c = spread_case();
  const Case single = on_single_device(c);
  EXPECT_EQ(world_size(single.layout), 1);
  EXPECT_FALSE(single.layout.sp);
  EXPECT_TRUE(single.defects.empty());
  EXPECT_TRUE(single.recipe.overlap.empty());
  EXPECT_EQ(single.recipe.step_api, StepApi::kFused);
  EXPECT_EQ(single.recipe.dtype, Precision::kBF16);
  EXPECT_EQ(reference_key(single), reference_key(c));
  EXPECT_EQ(why_invalid(single), std::nullopt);
}

TEST(SingleDevice, IsTheSameForAllCasesOfOneReference) {
  Case other = spread_case();
  other.layout.tp = 8;
  other.layout.dp = 1;
  other.recipe.overlap.clear();
  other.recipe.schedule_seed = 99;
  ASSERT_EQ(reference_key(other), reference_key(spread_case()));
  EXPECT_EQ(case_to_json(on_single_device(other)), case_to_json(on_single_device(spread_case())));
}

}  // namespace
}  // namespace lockstep::test
