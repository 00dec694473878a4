// The first host of Slurm's short form of a list.
#include <gtest/gtest.h>

#include <string>

#include "core/base/errors.h"
#include "matrix/launch/place.h"

namespace lockstep::matrix {
namespace {

std::string first(const char* list) { return first_host(list, "LIST"); }

TEST(FirstHost, IsTheWholeOfASingleName) { EXPECT_EQ(first("vm"), "vm"); }

TEST(FirstHost, EndsAtTheCommaOfAPlainList) { EXPECT_EQ(first("a.b-1,c"), "a.b-1"); }

TEST(FirstHost, KeepsTheZerosOfARange) { EXPECT_EQ(first("node[01-04,7]"), "node01"); }

TEST(FirstHost, TakesASingleNumberInBrackets) { EXPECT_EQ(first("node[12,14-16],x"), "node12"); }

TEST(FirstHost, KeepsWhatStandsBehindBrackets) { EXPECT_EQ(first("host-[1-2]x3"), "host-1x3"); }

TEST(FirstHost, ReadsTwoBracketsInOneName) { EXPECT_EQ(first("rack[3-4]n[08-09]"), "rack3n08"); }

TEST(FirstHost, RefusesWhatIsNoListOfHosts) {
  for (const char* list : {"", ",a", "node[1-2", "node[]", "node[-2]", "node1]", "[,2]"}) {
    EXPECT_THROW(first(list), UsageError) << list;
  }
}

TEST(FirstHost, NamesTheVariableAndWhatWouldBeRight) {
  try {
    first("node[1-2");
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "LIST is 'node[1-2': expected hosts as in node[01-04],other");
  }
}

}  // namespace
}  // namespace lockstep::matrix
