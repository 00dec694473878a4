// A failed check names the condition and the place, and costs nothing while it holds.
#include "core/base/errors.h"

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <type_traits>

namespace lockstep {
namespace {

std::string message_of_failed_check() {
  try {
    LOCKSTEP_CHECK(1 + 1 == 3, "sums are off by " + std::to_string(1));
  } catch (const InternalError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Check, NamesMessageConditionAndPlace) {
  const std::string message = message_of_failed_check();
  EXPECT_TRUE(message.starts_with("sums are off by 1 [1 + 1 == 3 at ")) << message;
  EXPECT_NE(message.find("errors_test.cpp:"), std::string::npos) << message;
}

TEST(Check, BuildsItsMessageOnlyWhenItFails) {
  int num_built = 0;
  const auto message = [&] {
    ++num_built;
    return std::string("unused");
  };
  LOCKSTEP_CHECK(true, message());
  EXPECT_EQ(num_built, 0);
}

TEST(Check, IsOneExpression) {
  const bool condition = true;
  if (condition)
    LOCKSTEP_CHECK(condition, "holds");
  else
    FAIL();
}

TEST(Errors, OfUseAndOfTheCodeAreToldApart) {
  EXPECT_FALSE((std::is_base_of_v<UsageError, InternalError>));
  EXPECT_FALSE((std::is_base_of_v<InternalError, UsageError>));
}

TEST(Errors, CancellingARankIsNoExceptionThatAHandlerCouldSwallow) {
  EXPECT_FALSE((std::is_base_of_v<std::exception, RankCancelled>));
}

}  // namespace
}  // namespace lockstep
