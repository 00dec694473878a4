// Reading what a sweep left: its lines, and what is none.
#include "matrix/confirm/earlier_results.h"

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "tests/matrix/sweep/sample_results.h"

namespace lockstep::test {
namespace {

using matrix::Verdict;

std::string line(const std::string& name,
                 const std::string& comm = "inproc",
                 const std::string& device = "cpu") {
  matrix::CaseResult result = sample_result(name, 1, Verdict::kPass);
  result.comm = comm;
  result.device = device;
  return matrix::result_to_json(result) + "\n";
}

class EarlierResults : public ::testing::Test {
 protected:
  void write(const std::string& text) { write_text(folder.file("results.jsonl"), text); }
  std::string refusal() const {
    try {
      matrix::read_simulated_results(folder.path());
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder;
};

TEST_F(EarlierResults, AreReadInTheOrderOfTheFile) {
  write(line("b") + line("a"));
  const std::vector<matrix::CaseResult> results = matrix::read_simulated_results(folder.path());
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].name, "b");
  EXPECT_EQ(results[1].name, "a");
}

TEST_F(EarlierResults, EndBeforeATornLastLine) {
  write(line("a") + line("b").substr(0, 40));
  EXPECT_EQ(matrix::read_simulated_results(folder.path()).size(), 1U);
}

TEST_F(EarlierResults, NeedAFolder) {
  EXPECT_THROW(matrix::read_simulated_results(folder.file("nowhere")), UsageError);
}

TEST_F(EarlierResults, NeedAFileOfResults) {
  EXPECT_NE(refusal().find("has no results.jsonl"), std::string::npos);
}

TEST_F(EarlierResults, RefuseALineThatIsNoResultByItsNumber) {
  write(line("a") + "{\"name\": 3}\n");
  EXPECT_NE(refusal().find("results.jsonl, line 2: expected a line of a sweep's results"),
            std::string::npos)
      << refusal();
}

TEST_F(EarlierResults, RefuseThoseOfAnotherBackend) {
  write(line("a") + line("b", "gloo"));
  EXPECT_NE(refusal().find("line 2: ran over gloo; expected results of a sweep with --comm inproc"),
            std::string::npos)
      << refusal();
}

TEST_F(EarlierResults, RefuseThoseOfAnotherDevice) {
  write(line("a") + line("b", "inproc", "cuda"));
  EXPECT_NE(refusal().find("line 2: ran on cuda; expected results of a sweep with --device cpu"),
            std::string::npos)
      << refusal();
}

}  // namespace
}  // namespace lockstep::test
