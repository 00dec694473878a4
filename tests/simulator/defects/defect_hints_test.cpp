// What a report says of a planted bug: the first place, and the cause that its hint names.
#include <gtest/gtest.h>

#include "core/config/case_json.h"
#include "core/config/presets.h"
#include "matrix/sweep/run_case.h"

namespace lockstep {
namespace {

using matrix::CaseResult;
using matrix::CaseRunner;
using matrix::Verdict;

// The worst place of one check.
sim::Place worst_place(Case c, const std::string& id, const std::string& check = "grads") {
  c.defects = {id};
  const CaseResult result = CaseRunner({.checks = {check}}).run("hint", c);
  EXPECT_EQ(result.verdict, Verdict::kFail) << id << result.reason;
  return result.checks.at(0).worst;
}

Case linear_case(Mask mask) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = 2;
  c.layout.dp = 3;
  c.recipe.mask = mask;
  c.recipe.loss_norm = LossNorm::kToken;
  return c;
}

// No two of tp, dp and the number of micro-batches are equal.
Case dense_case(const std::string& settings) {
  return case_from_json(
      R"({"preset":"tiny-dense","num_hidden_layers":1,"steps":1,"tp":2,"dp":3,"global_batch":15,)" +
      settings + "}");
}

TEST(DefectHints, AScaledGradientIsAProductOfGroupSizes) {
  const Case uneven = linear_case(Mask::kUneven);
  EXPECT_EQ(worst_place(uneven, "S53-averaged-over-the-world").hint, "x0.5 = 1/tp");
  EXPECT_EQ(worst_place(uneven, "T21-dp-reduction-twice").hint, "x3 = dp");
  EXPECT_EQ(worst_place(linear_case(Mask::kSingle), "S62-mean-of-micro-batch-means").hint,
            "x0.0833333 = 1/(dp*num_micro_batches)");
  EXPECT_EQ(
      worst_place(dense_case(R"("loss_norm":"token")"), "B45-divided-by-micro-batches-too").hint,
      "x0.2 = 1/num_micro_batches");
}

TEST(DefectHints, ASumThatDidNotHappenNamesItsGroup) {
  const std::string kOverDp = "sum over dp = reference: not summed there";
  const std::string kOverTp = "sum over tp = reference: not summed there";
  EXPECT_EQ(worst_place(linear_case(Mask::kUneven), "B27-dp-reduction-missing").hint, kOverDp);
  EXPECT_EQ(worst_place(dense_case(R"("overlap":["grad"])"), "T20-no-sync-left-on").hint, kOverDp);
  const Case split = dense_case(R"("step_api":"split")");
  EXPECT_EQ(worst_place(split, "B01-split-step-skips-tp-sum").hint, kOverTp);
  EXPECT_EQ(worst_place(split, "T08-head-norms-matched-by-old-name").hint, kOverTp);
  const Case sequence = dense_case(R"("sp":true,"bias":true)");
  EXPECT_EQ(worst_place(sequence, "B90-sequence-norms-not-summed").hint, kOverTp);
  EXPECT_EQ(worst_place(sequence, "T09-row-bias-not-summed").hint, kOverTp);
}

TEST(DefectHints, ACopySummedOnceTooOftenIsNoMissingSum) {
  EXPECT_EQ(
      worst_place(dense_case(R"("mask":"full")"), "T09-summed-without-sequence-parallel").hint,
      "x2 = tp");
}

TEST(DefectHints, AnAverageInPlaceOfASumIsAFactorAndNoMissingSum) {
  EXPECT_EQ(worst_place(dense_case(R"("sp":true)"), "T09-sequence-norms-averaged").hint,
            "x0.5 = 1/tp");
}

TEST(DefectHints, BelowF64AFactorIsTheSame) {
  for (const std::string dtype : {"f32", "bf16"}) {
    const std::string settings = R"("sp":true,"dtype":")" + dtype + "\"";
    const Case c = dense_case(settings);
    EXPECT_EQ(worst_place(c, "T09-sequence-norms-averaged").hint, "x0.5 = 1/tp") << dtype;
    EXPECT_EQ(worst_place(c, "T21-dp-reduction-twice").hint, "x3 = dp") << dtype;
    EXPECT_EQ(worst_place(c, "B90-sequence-norms-not-summed").hint,
              "sum over tp = reference: not summed there")
        << dtype;
  }
}

TEST(DefectHints, TheFirstTensorUpstreamIsNamed) {
  const sim::Place place = worst_place(linear_case(Mask::kUneven), "S21-copy-without-backward-sum");
  EXPECT_EQ(place.hint, "sum over tp = reference: not summed there");
  EXPECT_EQ(place.where, "decoder.final_layernorm.weight");
}

TEST(DefectHints, UnevenMeansHaveNoConstantRatioAndNoHintClaimsOne) {
  EXPECT_EQ(worst_place(linear_case(Mask::kUneven), "S62-mean-of-micro-batch-means").hint, "");
}

TEST(DefectHints, AReportedLossDividedInPlaceHasItsFactor) {
  const Case c = dense_case(R"("loss_norm":"micro_batch","mask":"single")");
  EXPECT_EQ(worst_place(c, "Th-report-aliases-the-division", "loss").hint,
            "x0.2 = 1/num_micro_batches");
}

}  // namespace
}  // namespace lockstep
