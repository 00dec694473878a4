// Whatever lies at a path, reading it ends: with the text or with one error that names the path.
#include "core/config/text_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "core/base/errors.h"

namespace lockstep::test {
namespace {

std::string path_of(const std::string& name) { return testing::TempDir() + "lockstep_" + name; }

std::string refusal(const std::string& path, std::size_t max_bytes = 100) {
  try {
    read_text_file(path, max_bytes);
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(TextFile, IsReadWhole) {
  const std::string path = path_of("whole");
  std::ofstream(path) << "a\n\xff\nb";
  EXPECT_EQ(read_text_file(path, 5), "a\n\xff\nb");
  ::unlink(path.c_str());
}

TEST(TextFile, ThatIsEmptyIsAnEmptyText) { EXPECT_EQ(read_text_file("/dev/null", 5), ""); }

TEST(TextFile, ThatIsTooLargeOrEndlessIsRefused) {
  const std::string path = path_of("large");
  std::ofstream(path) << "123456";
  EXPECT_EQ(refusal(path, 5), path + ": is larger than 5 bytes");
  ::unlink(path.c_str());
  EXPECT_EQ(refusal("/dev/zero", 100000), "/dev/zero: is larger than 100000 bytes");
}

TEST(TextFile, ThatIsMissingOrAFolderIsRefused) {
  EXPECT_EQ(refusal("no/such/file"), "no/such/file: no such file");
  EXPECT_EQ(refusal("/"), "/: is a folder; name a file");
  EXPECT_EQ(refusal("/dev/null/x"), "/dev/null/x: cannot be read: Not a directory");
  EXPECT_NE(refusal(""), "");
}

TEST(TextFile, ThatIsAPipeWithoutAWriterIsRefusedAtOnce) {
  const std::string path = path_of("pipe");
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(refusal(path), path + ": is a pipe that nobody writes to");
  ::unlink(path.c_str());
}

TEST(TextFile, ThatIsAPipeWithAWriterIsRead) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "text", 4), 4);
  ::close(ends[1]);
  EXPECT_EQ(read_text_file("/dev/fd/" + std::to_string(ends[0]), 100), "text");
  ::close(ends[0]);
}

}  // namespace
}  // namespace lockstep::test
