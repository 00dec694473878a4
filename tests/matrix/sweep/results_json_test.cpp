// The result line, the summary and the worker's request, there and back.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/errors.h"
#include "core/config/case_json.h"
#include "matrix/sweep/case_result.h"
#include "matrix/sweep/messages.h"
#include "matrix/sweep/summary.h"
#include "tests/matrix/sweep/sample_results.h"

namespace lockstep::test {
namespace {

using matrix::CaseResult;
using matrix::result_from_json;
using matrix::result_to_json;
using matrix::Verdict;

CaseResult rich_result() {
  CaseResult result = sample_result("tp2.uneven", 7, Verdict::kFail);
  result.reason = "two\nlines with \"quotes\"";
  result.checks = {passed_check("loss", "step 0", 2e-16),
                   failed_check("grads", "output_layer.weight", "x0.5 = 1/tp"),
                   sim::CheckResult{.check = "races",
                                    .verdict = sim::CheckVerdict::kNotApplicable,
                                    .expected = 0,
                                    .compared = 0,
                                    .reason = "no streams",
                                    .worst = {},
                                    .failures = {}}};
  result.checks[1].worst.ranks = {Rank{0}, Rank{3}};
  return result;
}

TEST(ResultLine, IsWrittenInTheOrderAndWordsOfTheContract) {
  CaseResult result = sample_result("tp2", 7, Verdict::kFail);
  result.checks = {failed_check("grads", "w", "x2 = tp")};
  const std::string expected =
      "{\"id\":\"" + case_id(result.c) + "\",\"name\":\"tp2\",\"case\":" + case_to_json(result.c) +
      ",\"comm\":\"inproc\",\"device\":\"cpu\",\"verdict\":\"fail\",\"seconds\":0.125,\"digest\":"
      "\"00112233445566ff\","
      "\"reason\":\"\","
      "\"checks\":[{\"check\":\"grads\",\"verdict\":\"fail\",\"compared\":31,\"expected\":31,"
      "\"where\":\"w\",\"ranks\":[0],\"error\":0.5,\"bound\":1e-10,\"hint\":\"x2 = tp\","
      "\"failures\":[{\"where\":\"w\",\"ranks\":[0],\"error\":0.5,\"bound\":1e-10,"
      "\"hint\":\"x2 = tp\"}],\"reason\":\"\"}]}";
  EXPECT_EQ(result_to_json(result), expected);
}

TEST(ResultLine, ComesBackAsItWas) {
  const CaseResult result = rich_result();
  const CaseResult back = result_from_json(result_to_json(result));
  EXPECT_EQ(result_to_json(back), result_to_json(result));
  EXPECT_EQ(back.name, "tp2.uneven");
  EXPECT_EQ(back.verdict, Verdict::kFail);
  EXPECT_EQ(back.reason, result.reason);
  ASSERT_EQ(back.checks.size(), 3U);
  EXPECT_EQ(back.checks[1].worst.ranks, result.checks[1].worst.ranks);
  EXPECT_EQ(back.checks[1].failures.size(), 1U);
  EXPECT_EQ(back.checks[2].verdict, sim::CheckVerdict::kNotApplicable);
}

TEST(ResultLine, TellsTheDeviceAndIsOfTheCpuWhereItTellsNone) {
  CaseResult result = rich_result();
  result.device = "cuda";
  EXPECT_EQ(result_from_json(result_to_json(result)).device, "cuda");
  std::string line = result_to_json(rich_result());
  const std::string field = "\"device\":\"cpu\",";
  ASSERT_NE(line.find(field), std::string::npos) << line;
  line.erase(line.find(field), field.size());
  EXPECT_EQ(result_from_json(line).device, "cpu");
}

TEST(ResultLine, IsOneLineWhateverTheReasonHolds) {
  CaseResult result = rich_result();
  result.reason = "broken bytes \xff\xfe and\nlines";
  const std::string line = result_to_json(result);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_NO_THROW(result_from_json(line));
}

TEST(ResultLine, HasNullForAnErrorThatIsNotFinite) {
  for (const double error : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    CaseResult result = rich_result();
    result.checks[1].worst.error = error;
    const std::string line = result_to_json(result);
    EXPECT_NE(line.find("\"error\":null"), std::string::npos);
    EXPECT_TRUE(std::isnan(result_from_json(line).checks[1].worst.error));
  }
}

TEST(ResultLine, HasEveryVerdict) {
  for (const Verdict verdict : matrix::kAllVerdicts) {
    const CaseResult result = sample_result("a", 1, verdict);
    EXPECT_EQ(result_from_json(result_to_json(result)).verdict, verdict);
  }
}

TEST(ResultLine, IsRefusedWhenTornOrForeign) {
  const std::string line = result_to_json(rich_result());
  EXPECT_THROW(result_from_json(line.substr(0, line.size() / 2)), UsageError);
  EXPECT_THROW(result_from_json(""), UsageError);
  EXPECT_THROW(result_from_json("[]"), UsageError);
  EXPECT_THROW(result_from_json("{\"name\":\"a\"}"), UsageError);
}

TEST(ResultLine, IsRefusedWhenItsIdIsNotThatOfItsCase) {
  std::string line = result_to_json(rich_result());
  line.replace(7, 4, "0000");
  EXPECT_THROW(result_from_json(line), UsageError);
}

TEST(WorkerRequest, ComesBackAsItWas) {
  const Case c = sample_case(11);
  const matrix::WorkerRequest request =
      matrix::request_from_json(matrix::request_to_json("tp2.\"odd\"", c));
  EXPECT_EQ(request.name, "tp2.\"odd\"");
  EXPECT_EQ(case_id(request.c), case_id(c));
  EXPECT_THROW(matrix::request_from_json("{"), UsageError);
}

TEST(SummaryJson, HasTheCountsOfAllVerdicts) {
  matrix::SweepSummary summary;
  summary.name = "quick";
  summary.count(Verdict::kPass) = 5;
  summary.count(Verdict::kTimeout) = 1;
  summary.seconds = 2.0;
  summary.cases_per_second = 3.0;
  EXPECT_EQ(
      matrix::summary_to_json(summary),
      "{\"name\":\"quick\",\"counts\":{\"pass\":5,\"fail\":0,\"error\":0,\"timeout\":1,"
      "\"invalid\":0,\"skipped\":0},\"seconds\":2.0,\"cases_per_second\":3.0,\"headroom\":{}}");
}

std::string headroom_json(const matrix::Headroom& headroom) {
  matrix::SweepSummary summary;
  summary.headroom = {{.check = "grads", .headroom = headroom}};
  const std::string json = matrix::summary_to_json(summary);
  return json.substr(json.find("\"headroom\":"));
}

TEST(SummaryJson, HasTheHeadroomOfEachCheck) {
  matrix::Headroom headroom;
  headroom.add(0.0, 1e-10);
  headroom.add(0.25, 1.0);
  EXPECT_EQ(headroom_json(headroom),
            "\"headroom\":{\"grads\":{\"p50\":0.0,\"p90\":0.25,\"p99\":0.25,\"max\":0.25}}}");
}

TEST(SummaryJson, SaysOfABitwiseCheckThatItIsExact) {
  matrix::Headroom headroom;
  headroom.add(0.0, 0.0);
  EXPECT_EQ(headroom_json(headroom), "\"headroom\":{\"grads\":{\"exact\":true}}}");
}

TEST(SummaryJson, LeavesOutTheHeadroomThatSaysNothing) {
  matrix::SweepSummary summary;
  summary.headroom = {{.check = "grads", .headroom = {}}};
  summary.has_headroom = false;
  EXPECT_EQ(matrix::summary_to_json(summary).find("headroom"), std::string::npos);
}

TEST(SummaryJson, HasNullForAHeadroomThatIsNotFinite) {
  matrix::Headroom headroom;
  headroom.add(std::nan(""), 1.0);
  EXPECT_NE(headroom_json(headroom).find("\"max\":null"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::test
