// What the user reads of a confirmation: a line a case, counts, and JSON.
#include "matrix/confirm/confirmation_report.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace lockstep::test {
namespace {

using matrix::Confirmation;
using matrix::JoinedCase;
using matrix::Verdict;
using Row = std::vector<std::string>;

sim::Place place(double error) {
  return {.where = "gradient weight", .ranks = {Rank{1}}, .error = error, .bound = 1e-12};
}

Confirmation sample() {
  Confirmation confirmation{.name = "backends",
                            .comm = "gloo",
                            .num_chosen = 3,
                            .num_fit = 7,
                            .left_out = {{.reason = "needs 8 ranks", .num_cases = 2}},
                            .seconds = 1.25};
  confirmation.cases = {{.name = "tp2",
                         .simulated = Verdict::kPass,
                         .confirmed = Verdict::kPass,
                         .difference = place(0.0),
                         .agrees = true},
                        {.name = "tp4",
                         .simulated = Verdict::kFail,
                         .confirmed = Verdict::kFail,
                         .difference = place(2.5e-16),
                         .agrees = true,
                         .note = "elsewhere"},
                        {.name = "dp2",
                         .simulated = Verdict::kPass,
                         .confirmed = Verdict::kError,
                         .agrees = false,
                         .reason = "rank 1 is lost"}};
  return confirmation;
}

TEST(ConfirmationText, IsALineACase) {
  const std::vector<Row> rows = matrix::confirmation_rows(sample());
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0], (Row{"case", "inproc", "gloo", "difference", "where", "outcome"}));
  EXPECT_EQ(rows[1], (Row{"tp2", "pass", "pass", "0", "", "agree"}));
  EXPECT_EQ(
      rows[2],
      (Row{"tp4", "fail", "fail", "2.5e-16", "gradient weight, rank 1", "agree (elsewhere)"}));
  EXPECT_EQ(rows[3], (Row{"dp2", "pass", "error", "", "", "DISAGREE: rank 1 is lost"}));
}

TEST(ConfirmationText, ClosesWithCountsTheLargestDifferenceAndWhatWasLeftOut) {
  EXPECT_EQ(matrix::confirmation_closing(sample()),
            "backends: 3 of 7 cases that fit, over gloo in 1.2 s: 2 agree, 1 disagree\n"
            "largest difference 2.5e-16, bound 1e-12: gradient weight, rank 1, in tp4\n"
            "left out 2 cases: needs 8 ranks\n");
}

TEST(ConfirmationText, TellsWhatIsNotJudgedApart) {
  Confirmation confirmation = sample();
  confirmation.cases[0].difference = place(0.27);
  confirmation.cases[0].difference->bound = std::numeric_limits<double>::infinity();
  EXPECT_NE(matrix::confirmation_closing(confirmation)
                .find("largest difference 2.5e-16, bound 1e-12: gradient weight, rank 1, in tp4\n"
                      "largest below f64 0.27: gradient weight, rank 1, in tp2\n"),
            std::string::npos)
      << matrix::confirmation_closing(confirmation);
}

TEST(ConfirmationText, SaysHowManyCasesAnInterruptLeft) {
  Confirmation confirmation = sample();
  confirmation.num_chosen = 5;
  confirmation.interrupted = true;
  EXPECT_NE(matrix::confirmation_closing(confirmation).find("1 disagree, interrupted before 2\n"),
            std::string::npos);
}

TEST(ConfirmationText, TakesWhatIsNoNumberForTheLargestDifference) {
  Confirmation confirmation = sample();
  confirmation.cases[0].difference = place(std::numeric_limits<double>::quiet_NaN());
  EXPECT_NE(
      matrix::confirmation_closing(confirmation)
          .find("largest difference not finite, bound 1e-12: gradient weight, rank 1, in tp2\n"),
      std::string::npos);
}

TEST(ConfirmationJson, HoldsCountsAndCases) {
  const std::string text = matrix::confirmation_to_json(sample());
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const nlohmann::json json = nlohmann::json::parse(text);
  EXPECT_EQ(json["name"], "backends");
  EXPECT_EQ(json["comm"], "gloo");
  EXPECT_EQ(json["counts"]["agree"], 2);
  EXPECT_EQ(json["counts"]["disagree"], 1);
  EXPECT_EQ(json["counts"]["fit"], 7);
  EXPECT_EQ(json["left_out"][0]["cases"], 2);
  ASSERT_EQ(json["cases"].size(), 3U);
  EXPECT_EQ(json["cases"][1]["inproc"], "fail");
  EXPECT_EQ(json["cases"][1]["gloo"], "fail");
  EXPECT_EQ(json["cases"][1]["error"], 2.5e-16);
  EXPECT_EQ(json["cases"][1]["ranks"][0], 1);
  EXPECT_EQ(json["cases"][2]["agrees"], false);
  EXPECT_EQ(json["cases"][2]["reason"], "rank 1 is lost");
  EXPECT_FALSE(json["cases"][2].contains("error"));
}

}  // namespace
}  // namespace lockstep::test
