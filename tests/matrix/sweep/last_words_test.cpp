// The end of a dead worker's standard error.
#include "matrix/sweep/last_words.h"

#include <gtest/gtest.h>

namespace lockstep::test {
namespace {

using matrix::LastWords;

TEST(LastWords, JoinsLinesAndDropsEmptyOnes) {
  LastWords words;
  words.add("one\n\ntw");
  words.add("o\n");
  EXPECT_EQ(words.text(), "one | two");
  words.clear();
  EXPECT_EQ(words.text(), "");
}

TEST(LastWords, KeepsTheLastLinesOnly) {
  LastWords words;
  for (int i = 0; i < 10; ++i) words.add(std::to_string(i) + "\n");
  EXPECT_EQ(words.text(), "4 | 5 | 6 | 7 | 8 | 9");
}

TEST(LastWords, StaysSmallHoweverMuchIsSaid) {
  LastWords words;
  for (int i = 0; i < 1000; ++i) words.add(std::string(1000, 'x'));
  EXPECT_EQ(words.text().size(), LastWords::kMaxBytes);
}

}  // namespace
}  // namespace lockstep::test
