// The three layouts of a table.
#include "matrix/cli/table_text.h"

#include <gtest/gtest.h>

namespace lockstep::test {
namespace {

using matrix::Row;

const std::vector<Row> kRows = {{"name", "when", "what it is"},
                                {"a", "tp > 1", "one two three four five six seven eight nine"},
                                {"bb", "", "ten"}};

TEST(TableText, IsALineARowWhereWidthDoesNotMatter) {
  EXPECT_EQ(matrix::table_text(kRows, 0),
            "name  when    what it is\n"
            "a     tp > 1  one two three four five six seven eight nine\n"
            "bb            ten\n");
  EXPECT_EQ(matrix::table_text(kRows, 0), matrix::table_text(kRows, 100));
}

TEST(TableText, WrapsTheLastColumnOnATerminal) {
  EXPECT_EQ(matrix::table_text(kRows, 50),
            "name  when    what it is\n"
            "a     tp > 1  one two three four five six seven\n"
            "              eight nine\n"
            "bb            ten\n");
}

TEST(TableText, IsABlockARowWhereTheTerminalIsTooNarrow) {
  EXPECT_EQ(matrix::table_text(kRows, 40),
            "a\n"
            "    when        tp > 1\n"
            "    what it is  one two three four five six\n"
            "                seven eight nine\n"
            "bb\n"
            "    what it is  ten\n");
}

TEST(TableText, StandsAnyWidth) {
  for (std::size_t width = 1; width < 120; ++width) {
    EXPECT_NE(matrix::table_text(kRows, width).find("nine"), std::string::npos) << width;
  }
}

}  // namespace
}  // namespace lockstep::test
