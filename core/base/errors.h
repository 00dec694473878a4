// The errors that cross module borders, and the check that stays on in release builds.
#pragma once

#include <stdexcept>
#include <string>

namespace lockstep {

// The user's input is wrong: one sentence with what, where and what would be right. Exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A condition that the code itself promises does not hold: this rank is over.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Thrown into a rank that waits for something that can never come. Deliberately no std::exception:
// only the root of a rank may catch it.
struct RankCancelled {};

[[noreturn]] void check_failed(const char* condition,
                               const char* file,
                               int line,
                               const std::string& message);

}  // namespace lockstep

// The message is evaluated only when the condition is false.
#define LOCKSTEP_CHECK(condition, message) \
  ((condition) ? static_cast<void>(0)      \
               : ::lockstep::check_failed(#condition, __FILE__, __LINE__, (message)))
