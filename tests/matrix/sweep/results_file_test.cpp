// results.jsonl survives kills, is resumed, and never has two writers.
#include "matrix/sweep/results_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/base/errors.h"
#include "tests/matrix/sweep/sample_results.h"

namespace lockstep::test {
namespace {

using matrix::CaseResult;
using matrix::result_to_json;
using matrix::ResultsFile;
using matrix::Verdict;

std::string line(const std::string& name) {
  return result_to_json(sample_result(name, 1, Verdict::kPass));
}

TEST(ResultsFile, HoldsEachLineAsSoonAsItIsAppended) {
  const TemporaryFolder folder;
  ResultsFile results(folder.file("deep/er"));
  results.start_anew();
  results.append(line("a"));
  EXPECT_EQ(read_text(results.path()), line("a") + "\n");
  results.append(line("b"));
  EXPECT_EQ(read_text(results.path()), line("a") + "\n" + line("b") + "\n");
}

TEST(ResultsFile, ReplacesAnEarlierSweepUnlessItResumes) {
  const TemporaryFolder folder;
  write_text(folder.file("results.jsonl"), line("old") + "\n");
  write_text(folder.file("summary.json"), "{}");
  ResultsFile results(folder.path());
  EXPECT_EQ(read_text(results.path()), line("old") + "\n");
  results.start_anew();
  EXPECT_EQ(read_text(results.path()), "");
  EXPECT_FALSE(std::filesystem::exists(folder.file("summary.json")));
}

TEST(ResultsFile, DropsATornLastLineOnResume) {
  const TemporaryFolder folder;
  write_text(folder.file("results.jsonl"), line("a") + "\n" + line("b").substr(0, 100));
  ResultsFile results(folder.path());
  std::vector<std::string> seen;
  const std::size_t num_dropped = results.resume([&](const CaseResult& result) {
    seen.push_back(result.name);
    return true;
  });
  EXPECT_EQ(num_dropped, 1U);
  EXPECT_EQ(seen, std::vector<std::string>{"a"});
  results.append(line("b"));
  EXPECT_EQ(read_text(results.path()), line("a") + "\n" + line("b") + "\n");
}

TEST(ResultsFile, DropsATornLineThatHappensToBeWholeJson) {
  const TemporaryFolder folder;
  write_text(folder.file("results.jsonl"), line("a"));
  ResultsFile results(folder.path());
  EXPECT_EQ(results.resume([](const CaseResult&) { return true; }), 1U);
  EXPECT_EQ(read_text(results.path()), "");
}

TEST(ResultsFile, DropsUnreadableAndUnwantedLinesOnResume) {
  const TemporaryFolder folder;
  write_text(folder.file("results.jsonl"),
             line("a") + "\n{\"torn\n" + line("b") + "\n" + line("c") + "\n");
  ResultsFile results(folder.path());
  EXPECT_EQ(results.resume([](const CaseResult& result) { return result.name != "b"; }), 2U);
  EXPECT_EQ(read_text(results.path()), line("a") + "\n" + line("c") + "\n");
}

TEST(ResultsFile, ResumesWhereNothingIsYet) {
  const TemporaryFolder folder;
  ResultsFile results(folder.path());
  EXPECT_EQ(results.resume([](const CaseResult&) { return true; }), 0U);
  EXPECT_EQ(read_text(results.path()), "");
}

TEST(ResultsFile, RefusesAFolderThatCannotBe) {
  const TemporaryFolder folder;
  write_text(folder.file("plain"), "text");
  EXPECT_THROW(ResultsFile(folder.file("plain")), UsageError);
  EXPECT_THROW(ResultsFile(folder.file("plain/below")), UsageError);
  EXPECT_THROW(ResultsFile("/proc/lockstep"), UsageError);
  std::filesystem::create_directory(folder.file("results.jsonl"));
  EXPECT_THROW(ResultsFile(folder.path()), UsageError);
  EXPECT_EQ(read_text(folder.file("plain")), "text");
}

TEST(ResultsFile, RefusesASecondWriter) {
  const TemporaryFolder folder;
  {
    ResultsFile first(folder.path());
    EXPECT_THROW(ResultsFile(folder.path()), UsageError);
  }
  EXPECT_NO_THROW(ResultsFile(folder.path()));
}

TEST(ResultsFile, RefusesWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/full", folder.file("results.jsonl.new"));
  try {
    ResultsFile results(folder.path());
    // The trial file is taken away; put the full disk back where the lines will go.
    std::filesystem::create_symlink("/dev/full", folder.file("results.jsonl.new"));
    results.start_anew();
    results.append(line("a"));
    FAIL() << "a full disk was not noticed";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("No space left"), std::string::npos);
  }
}

TEST(ResultsFile, RefusesAPipeOrAFolderInItsPlace) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("results.jsonl").c_str(), 0600), 0);
  EXPECT_THROW(ResultsFile(folder.path()), UsageError);
  std::filesystem::remove(folder.file("results.jsonl"));
  std::filesystem::create_directory(folder.file("results.jsonl"));
  EXPECT_THROW(ResultsFile(folder.path()), UsageError);
}

TEST(ResultsFile, WritesFilesBesideItWhole) {
  const TemporaryFolder folder;
  const ResultsFile results(folder.path());
  results.write_beside("summary.json", "first");
  results.write_beside("summary.json", "second");
  EXPECT_EQ(read_text(folder.file("summary.json")), "second");
}

}  // namespace
}  // namespace lockstep::test
