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

TEST(TableText, DoesNotPadTheRaggedColumnOfLines) {
  EXPECT_EQ(matrix::table_text(kRows, 0, "when"),
            "name  when  what it is\n"
            "a     tp > 1  one two three four five six seven eight nine\n"
            "bb      ten\n");
  EXPECT_EQ(matrix::table_text(kRows, 50, "when"), matrix::table_text(kRows, 50));
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
            "    one two three four five six seven\n"
            "    eight nine\n"
            "    when tp > 1\n"
            "bb\n"
            "    ten\n");
}

TEST(TableText, GivesALongCellOfABlockItsOwnLines) {
  const std::string condition = "tp > 1 and dp > 1 and mask in [full, uneven, single, empty]";
  EXPECT_EQ(matrix::table_text({{"id", "n", "when", "what"}, {"a", "1", condition, "b"}}, 44),
            "a\n"
            "    b\n"
            "    n 1\n"
            "    when tp > 1 and dp > 1 and mask in\n"
            "         [full, uneven, single, empty]\n");
}

TEST(TableText, StandsAnyWidth) {
  for (std::size_t width = 1; width < 120; ++width) {
    EXPECT_NE(matrix::table_text(kRows, width).find("nine"), std::string::npos) << width;
  }
}

}  // namespace
}  // namespace lockstep::test
