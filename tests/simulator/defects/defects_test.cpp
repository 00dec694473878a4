// Every defect measured both ways over a small matrix: where its edit changes nothing the bits are
// the clean run's, and where it says that it is visible some check fails.
#include <gtest/gtest.h>

#include <map>

#include "core/base/errors.h"
#include "core/config/expression.h"
#include "core/config/presets.h"
#include "matrix/sweep/run_case.h"
#include "simulator/defects/defect.h"
#include "simulator/defects/trial_setup.h"

namespace lockstep {
namespace {

using matrix::CaseResult;
using matrix::CaseRunner;
using matrix::RunOptions;
using matrix::Verdict;

std::vector<Case> small_matrix() {
  std::vector<Case> cases;
  for (const std::int64_t tp : {1, 2, 4}) {
    for (const std::int64_t dp : {1, 2, 3}) {
      for (const LossNorm norm : {LossNorm::kToken, LossNorm::kMicroBatch}) {
        for (const Mask mask : {Mask::kFull,
                                Mask::kUneven,
                                Mask::kSingle,
                                Mask::kEmpty,
                                Mask::kNone,
                                Mask::kVarying}) {
          Case c = preset_case("tiny-linear");
          c.layout.tp = tp;
          c.layout.dp = dp;
          c.recipe.loss_norm = norm;
          c.recipe.mask = mask;
          cases.push_back(c);
        }
      }
    }
  }
  for (const std::int64_t tp : {1, 2}) {
    for (const std::int64_t dp : {1, 3}) {
      Case c = preset_case("tiny-dense");
      c.layout.tp = tp;
      c.layout.sp = tp > 1;
      c.layout.dp = dp;
      c.recipe.loss_norm = LossNorm::kToken;
      c.recipe.overlap = {"grad"};
      c.recipe.bucket_elements = 1000;
      cases.push_back(c);
    }
  }
  return cases;
}

std::string describe(const Case& c) {
  return "tp " + std::to_string(c.layout.tp) + " dp " + std::to_string(c.layout.dp) + " norm " +
         std::to_string(static_cast<int>(c.recipe.loss_norm)) + " mask " +
         std::to_string(static_cast<int>(c.recipe.mask));
}

Case with_defect(Case c, const sim::Defect& defect) {
  c.defects = {defect.id};
  return c;
}

class EachDefect : public testing::TestWithParam<std::size_t> {};

TEST_P(EachDefect, IsInertEquivalentOrCaughtAndNeverMissed) {
  const sim::Defect& defect = sim::defects()[GetParam()];
  const Expression visible_when = Expression::parse(defect.visible_when);
  CaseRunner runner((RunOptions()));
  std::map<std::string, int> states;
  for (const Case& clean : small_matrix()) {
    const Case edited = with_defect(clean, defect);
    const CaseResult clean_result = runner.run("clean", clean);
    const CaseResult result = runner.run("edited", edited);
    ASSERT_EQ(clean_result.verdict, Verdict::kPass) << describe(clean) << clean_result.reason;
    const bool unchanged =
        to_text(sim::make_edited_setup(edited)) == to_text(sim::make_setup(clean));
    if (unchanged) {
      ++states["inert"];
      EXPECT_EQ(result.digest, clean_result.digest) << describe(clean);
    }
    if (visible_when.holds(clean)) {
      ++states["caught"];
      EXPECT_FALSE(unchanged) << describe(clean);
      EXPECT_EQ(result.verdict, Verdict::kFail) << describe(clean);
    } else {
      states["equivalent"] += unchanged ? 0 : 1;
      EXPECT_EQ(result.verdict, Verdict::kPass) << describe(clean);
    }
  }
  // A condition that never holds, or always does, would prove nothing.
  EXPECT_GT(states["inert"], 0);
  EXPECT_GT(states["caught"], 0);
  EXPECT_GT(states["equivalent"], 0);
}

// Few small micro-batches over many seeds: draws without any target, and with equal counts.
std::vector<Case> small_batches() {
  std::vector<Case> cases;
  for (const Mask mask : {Mask::kUneven, Mask::kSingle, Mask::kEmpty, Mask::kVarying}) {
    for (const std::int64_t dp : {1, 2}) {
      for (const std::int64_t micro_batch : {1, 2}) {
        for (const std::int64_t num_micro_batches : {1, 2, 3}) {
          for (std::int64_t seed = 0; seed < 8; ++seed) {
            Case c = preset_case("tiny-linear");
            c.layout.tp = 2;
            c.layout.dp = dp;
            c.model.num_hidden_layers = 1;
            c.recipe.mask = mask;
            c.recipe.seq = 4;
            c.recipe.steps = 1;
            c.recipe.loss_norm = LossNorm::kToken;
            c.recipe.micro_batch = micro_batch;
            c.recipe.global_batch = num_micro_batches * dp * micro_batch;
            c.recipe.seed = seed;
            cases.push_back(c);
          }
        }
      }
    }
  }
  return cases;
}

TEST_P(EachDefect, PromisesToBeSeenOnlyWhereTheDrawOfFewTokensCannotHideIt) {
  const sim::Defect& defect = sim::defects()[GetParam()];
  const Expression visible_when = Expression::parse(defect.visible_when);
  CaseRunner runner({.checks = {"grads"}});
  int promised = 0;
  for (const Case& clean : small_batches()) {
    if (!visible_when.holds(clean)) continue;
    ++promised;
    EXPECT_EQ(runner.run("edited", with_defect(clean, defect)).verdict, Verdict::kFail)
        << describe(clean) << " seed " << clean.recipe.seed << " global_batch "
        << clean.recipe.global_batch << " micro_batch " << clean.recipe.micro_batch;
  }
  EXPECT_GT(promised, 0);
}

INSTANTIATE_TEST_SUITE_P(Defects,
                         EachDefect,
                         testing::Range(std::size_t{0}, sim::defects().size()),
                         [](const testing::TestParamInfo<std::size_t>& row) {
                           std::string name = sim::defects()[row.param].id;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

// The grads check's first place on tp 2, dp 3.
sim::Place first_place(const std::string& id, Mask mask) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = 2;
  c.layout.dp = 3;
  c.recipe.mask = mask;
  c.recipe.loss_norm = LossNorm::kToken;
  c.defects = {id};
  const CaseResult result = CaseRunner({.checks = {"grads"}}).run("hint", c);
  EXPECT_EQ(result.verdict, Verdict::kFail) << result.reason;
  return result.checks.at(0).worst;
}

TEST(DefectHints, NameTheCause) {
  EXPECT_EQ(first_place("B155-averaged-over-the-world", Mask::kUneven).hint, "x0.5 = 1/tp");
  EXPECT_EQ(first_place("T21-dp-reduction-twice", Mask::kUneven).hint, "x3 = dp");
  EXPECT_EQ(first_place("B27-dp-reduction-missing", Mask::kUneven).hint,
            "sum over dp = reference: not summed there");
  EXPECT_EQ(first_place("B47-mean-of-micro-batch-means", Mask::kSingle).hint,
            "x0.0833333 = 1/(dp*num_micro_batches)");
  const sim::Place partial = first_place("B16-copy-without-backward-sum", Mask::kUneven);
  EXPECT_EQ(partial.hint, "sum over tp = reference: not summed there");
  EXPECT_EQ(partial.where, "decoder.final_layernorm.weight") << "the first one upstream";
}

TEST(DefectHints, UnevenMeansHaveNoConstantRatioAndNoHintClaimsOne) {
  EXPECT_EQ(first_place("B47-mean-of-micro-batch-means", Mask::kUneven).hint, "");
}

TEST(Defects, AnUnknownIdNamesTheNearest) {
  try {
    sim::find_defect("B27-dp-reduction-mising");
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'B27-dp-reduction-missing'?"),
              std::string::npos)
        << error.what();
  }
}

TEST(Defects, RowsAreWholeAndSortedById) {
  std::string last;
  for (const sim::Defect& defect : sim::defects()) {
    EXPECT_LT(last, defect.id);
    last = defect.id;
    EXPECT_FALSE(defect.source.empty() || defect.summary.empty() || defect.edit == nullptr);
    EXPECT_NO_THROW(Expression::parse(defect.visible_when));
  }
}

TEST(Defects, SeveralAreEditedInTogether) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = 2;
  c.layout.dp = 3;
  c.defects = {"B155-averaged-over-the-world", "T21-dp-reduction-twice"};
  const CaseResult result = CaseRunner({.checks = {"grads"}}).run("two", c);
  EXPECT_EQ(result.checks.at(0).worst.hint, "x1.5 = dp/tp");
}

}  // namespace
}  // namespace lockstep
