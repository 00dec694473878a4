// The rules about structure, held against the real tree.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/structure/include_rules.h"
#include "tests/structure/listing_rules.h"
#include "tests/structure/source_tree.h"
#include "tests/structure/text_rules.h"

namespace lockstep::test {
namespace {

std::filesystem::path root() { return LOCKSTEP_SOURCE_DIR; }

const std::vector<SourceFile>& tree() {
  static const std::vector<SourceFile> kTree = read_tree(root());
  return kTree;
}

void expect_none(const Findings& findings) { EXPECT_TRUE(findings.empty()) << joined(findings); }

TEST(Tree, IsReadWithItsSourcesHeadersAndLists) {
  const auto holds = [](const std::string& path) {
    return std::any_of(
        tree().begin(), tree().end(), [&](const SourceFile& f) { return f.path == path; });
  };
  EXPECT_TRUE(holds("core/base/errors.h"));
  EXPECT_TRUE(holds("core/base/errors.cpp"));
  EXPECT_TRUE(holds("simulator/checks/CMakeLists.txt"));
  EXPECT_TRUE(holds("tests/structure/tree_test.cpp"));
}

TEST(Tree, IncludesGoAlongTheArrows) { expect_none(check_arrows(tree())); }

TEST(Tree, DependenciesAreSeenWhereAgreed) { expect_none(check_dependencies(tree())); }

TEST(Tree, FilesAndLinesKeepTheirSizesAndBeginWithASentence) { expect_none(check_sizes(tree())); }

TEST(Tree, FunctionsKeepTheirSize) { expect_none(check_function_lengths(tree())); }

TEST(Tree, HoldsNothingBanned) { expect_none(check_banned(tree())); }

TEST(Tree, SkipsNoTest) { expect_none(check_skipped_tests(tree())); }

TEST(Tree, HasNoMutableGlobals) { expect_none(check_globals(tree())); }

TEST(Tree, ListsEverySourceTestAndFolder) { expect_none(check_listed(tree())); }

TEST(Tree, TellsWhatLivesInEachFolder) { expect_none(check_readmes(tree())); }

TEST(Tree, HasNoOtherTopLevelFolder) {
  std::ifstream stream(root() / ".gitignore");
  const std::string ignored{std::istreambuf_iterator<char>(stream),
                            std::istreambuf_iterator<char>()};
  expect_none(check_top_folders(top_folders(root()), ignored));
}

}  // namespace
}  // namespace lockstep::test
