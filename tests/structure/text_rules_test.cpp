// Plants files that are too large, badly begun, or hold what no file may hold.
#include "tests/structure/text_rules.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep::test {
namespace {

constexpr const char* kFirstLine = "// A file that stands for many.\n";

std::vector<SourceFile> one(const std::string& code, const std::string& path = "core/base/a.cpp") {
  return {{.path = path, .text = kFirstLine + code}};
}

std::string repeated(const std::string& text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST(Sizes, AllowFourHundredLinesAndNoMore) {
  EXPECT_TRUE(check_sizes(one(repeated("\n", 399))).empty());
  const Findings findings = check_sizes(one(repeated("\n", 400)));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0], "core/base/a.cpp: 401 lines, more than 400");
}

TEST(Sizes, AllowAHundredCharactersAndNoMore) {
  EXPECT_TRUE(check_sizes(one(std::string(100, 'x') + "\n")).empty());
  const Findings findings = check_sizes(one(std::string(101, 'x') + "\n"));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0], "core/base/a.cpp:2: longer than 100 characters");
}

TEST(Sizes, CountCharactersAndNotBytes) {
  EXPECT_TRUE(check_sizes(one("// " + repeated("×", 97) + "\n")).empty());
}

TEST(Sizes, AskForAFirstSentence) {
  for (const std::string text : {"", "#pragma once\n", "//\n", "// Todo\n", "/* A comment. */\n"}) {
    EXPECT_EQ(check_sizes({{.path = "core/base/a.h", .text = text}}).size(), 1U) << text;
  }
}

TEST(FunctionLengths, AllowSeventyLinesAndNoMore) {
  const auto function_of = [](std::size_t lines) {
    return "int f(int a,\n      int b) {\n" + repeated("  a += b;\n", lines - 3) + "}\n";
  };
  EXPECT_TRUE(check_function_lengths(one(function_of(70))).empty());
  const Findings findings = check_function_lengths(one("\n" + function_of(71)));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0], "core/base/a.cpp:3: a function of 71 lines");
}

TEST(FunctionLengths, HoldInsideNamespacesAndClasses) {
  const std::string body = repeated("  call();\n", 80);
  const std::string method =
      "namespace a {\nclass B {\n public:\n  bool operator==(int x) const {\n" + body +
      "  }\n};\n}\n";
  const Findings findings = check_function_lengths(one(method));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0], "core/base/a.cpp:5: a function of 82 lines");
}

TEST(FunctionLengths, HoldForTests) {
  const std::string text = "TEST(A, B) {\n" + repeated("  call();\n", 80) + "}\n";
  EXPECT_EQ(check_function_lengths(one(text)).size(), 1U);
}

TEST(FunctionLengths, LeaveTablesAndTypesFree) {
  const std::string rows = repeated("    {1, 2},\n", 80);
  EXPECT_TRUE(check_function_lengths(one("const Table kTable = {\n" + rows + "};\n")).empty());
  const std::string members = repeated("  int a(int b);\n", 80);
  EXPECT_TRUE(check_function_lengths(one("struct A {\n" + members + "};\n")).empty());
}

TEST(FunctionLengths, AreNotShiftedByBracesInStringsOrMacros) {
  const std::string text = "#define OPEN {\nvoid f() {\n  g(\"{{{\", '{');  // {\n}\n" +
                           repeated("int h();\n", 80) + "void i() {\n}\n";
  EXPECT_TRUE(check_function_lengths(one(text)).empty());
}

TEST(Banned, IsFoundInCode) {
  for (const std::string code : {"#include <ranges>\n",
                                 "using namespace std;\n",
                                 "thread_local int a;\n",
                                 "  } catch (...) {\n",
                                 "  std::this_thread::sleep_for(delay);\n",
                                 "  std::mt19937 engine(3);\n",
                                 "  std::unordered_map<int, int> a;\n"}) {
    const Findings findings = check_banned(one(code));
    ASSERT_EQ(findings.size(), 1U) << code;
    EXPECT_TRUE(findings[0].starts_with("core/base/a.cpp:2: ")) << findings[0];
  }
}

TEST(Banned, IsIgnoredInCommentsAndStrings) {
  EXPECT_TRUE(
      check_banned(one("// thread_local\nf(\"using namespace std\", R\"(catch (...))\");\n"))
          .empty());
}

TEST(Banned, CatchAllIsAllowedAtARanksRoot) {
  EXPECT_TRUE(check_banned(one("} catch (...) {\n", "simulator/runtime/cluster.cpp")).empty());
}

TEST(SkippedTests, AreFound) {
  EXPECT_EQ(check_skipped_tests(one("TEST(A, DISABLED_B) {}\n")).size(), 1U);
  EXPECT_EQ(check_skipped_tests(one("  GTEST_SKIP() << why;\n")).size(), 1U);
  EXPECT_TRUE(check_skipped_tests(one("TEST(A, B) {}\n")).empty());
}

TEST(Globals, AreFoundAtNamespaceScope) {
  for (const std::string code : {"int counter = 0;\n",
                                 "static std::mutex lock;\n",
                                 "std::vector<int> cache{1, 2};\n",
                                 "inline bool verbose = false;\n",
                                 "std::map<std::string, int>* table = nullptr;\n"}) {
    EXPECT_EQ(check_globals(one(code)).size(), 1U) << code;
  }
}

TEST(Globals, AreFoundAsStaticLocals) {
  const Findings findings = check_globals(one("int f() {\n  static int calls = 0;\n}\n"));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0], "core/base/a.cpp:3: mutable global 'calls'");
}

TEST(Globals, AreNoneWhereNothingCanChange) {
  EXPECT_TRUE(check_globals(one("constexpr int kA = 1;\nconst std::vector<int> kB = {1};\n"
                                "inline constexpr double kC = 2;\nstatic const int kD = 3;\n"
                                "using A = int;\nstruct B;\nclass C;\nenum class D;\n"
                                "int f(int a);\nint g() {\n  int local = 0;\n"
                                "  static const std::vector<int> kAll = make();\n}\n"
                                "struct E {\n  int member = 0;\n  static E make(int a);\n};\n"))
                  .empty());
}

TEST(CodeOnly, KeepsLinesAndBlanksWhatIsNoCode) {
  EXPECT_EQ(code_only("a; // b\nc(\"d\\\"e\", 'f');\n"), "a;     \nc(      ,    );\n");
  EXPECT_EQ(code_only("x /* y\nz */ w"), "x     \n     w");
  EXPECT_EQ(code_only("n = 1'000'000;"), "n = 1'000'000;");
  EXPECT_EQ(code_only("#include \"a/b.h\"  // c\n"), "#include \"a/b.h\"  // c\n");
}

}  // namespace
}  // namespace lockstep::test
