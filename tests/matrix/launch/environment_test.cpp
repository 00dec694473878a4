// The copy of this process's own variables.
#include "matrix/launch/environment.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace lockstep::matrix {
namespace {

TEST(Environment, HoldsAVariableOfThisProcessWithEveryEqualsSignOfItsValue) {
  ASSERT_EQ(setenv("LOCKSTEP_ENVIRONMENT_TEST", "a=b=", 1), 0);
  EXPECT_EQ(own_environment().at("LOCKSTEP_ENVIRONMENT_TEST"), "a=b=");
}

TEST(Environment, LacksAVariableThatIsNotSet) {
  ASSERT_EQ(unsetenv("LOCKSTEP_ENVIRONMENT_TEST"), 0);
  EXPECT_FALSE(own_environment().contains("LOCKSTEP_ENVIRONMENT_TEST"));
}

}  // namespace
}  // namespace lockstep::matrix
