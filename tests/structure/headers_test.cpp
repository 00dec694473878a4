// The script that compiles every header alone finds a header that does not.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace lockstep::test {
namespace {

// The script's exit status on a folder that holds one header with this text.
int status_of_headers_script(const std::string& name, const std::string& text) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "planted.h") << text;
  const std::string script = std::string(LOCKSTEP_SOURCE_DIR) + "/ci/headers";
  const int status = std::system((script + " '" + folder.string() + "' 2>/dev/null").c_str());
  std::filesystem::remove_all(folder);
  return status;
}

TEST(HeadersScript, PassesAHeaderThatCompilesAlone) {
  EXPECT_EQ(status_of_headers_script("lockstep_headers_good",
                                     "#pragma once\n#include <string>\nstd::string f();\n"),
            0);
}

TEST(HeadersScript, FailsAHeaderThatNeedsAnotherBeforeIt) {
  EXPECT_NE(status_of_headers_script("lockstep_headers_bad", "#pragma once\nstd::string f();\n"),
            0);
}

}  // namespace
}  // namespace lockstep::test
