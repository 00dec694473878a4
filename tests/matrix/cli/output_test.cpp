// Standard output may be gone before the command is.
#include "matrix/cli/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "core/base/errors.h"

namespace lockstep::test {
namespace {

// Standard output is `descriptor` for as long as this lives.
class RedirectedOutput {
 public:
  explicit RedirectedOutput(int descriptor) : saved_(::dup(STDOUT_FILENO)) {
    ::dup2(descriptor, STDOUT_FILENO);
    ::close(descriptor);
  }
  ~RedirectedOutput() {
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
  }

 private:
  int saved_;
};

TEST(Output, IsNoErrorWhereTheReaderHasGone) {
  matrix::guard_standard_streams();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const RedirectedOutput redirected(ends[1]);
  EXPECT_NO_THROW(matrix::print_out("text"));
}

TEST(Output, IsAnErrorWhereTextIsLost) {
  const RedirectedOutput redirected(::open("/dev/full", O_WRONLY));
  EXPECT_THROW(matrix::print_out("text"), UsageError);
}

TEST(ErrorLine, IsOneLineThatLeavesTheTerminalAlone) {
  EXPECT_EQ(matrix::error_line("a\nb\x1b[31m \xc3\xbc"), "lockstep: a b\\x1b[31m \xc3\xbc\n");
}

TEST(ErrorLine, KeepsBothEndsOfAMessageThatIsTooLong) {
  const std::string line = matrix::error_line("begin" + std::string(100000, 'x') + "end");
  EXPECT_TRUE(line.starts_with("lockstep: begin"));
  EXPECT_TRUE(line.ends_with("end\n"));
  EXPECT_NE(line.find(" [...] "), std::string::npos);
  EXPECT_LT(line.size(), 1000U);
}

TEST(Output, IsAnErrorCodePastTheLargestFileInsteadOfASignal) {
  matrix::guard_standard_streams();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  const ssize_t written = ::write(::fileno(file), "x", 1);
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(written, -1);
  std::fclose(file);
}

TEST(Output, PutsAMissingStreamInItsPlace) {
  const int saved = ::dup(STDIN_FILENO);
  ::close(STDIN_FILENO);
  matrix::guard_standard_streams();
  EXPECT_GE(::fcntl(STDIN_FILENO, F_GETFD), 0);
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
}

}  // namespace
}  // namespace lockstep::test
