// The source tree as text: what every rule about the project's structure reads.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::test {

// Paths are relative to the root, with '/'. A planted file needs no disk.
struct SourceFile {
  std::string path;
  std::string text;
};

// One broken rule: "core/ops/add.cpp:12: ...".
using Findings = std::vector<std::string>;

// Every .h, .cuh, .cpp, .cu, CMakeLists.txt and README.md below the source folders, in order of
// path.
std::vector<SourceFile> read_tree(const std::filesystem::path& root);

// The same text with comments, strings and character literals blanked, line for line.
std::string code_only(std::string_view text);

// The first `num_parts` folders of a path: folder_of("core/ops/cpu/a.cpp", 2) is "core/ops".
std::string folder_of(std::string_view path, int num_parts);

std::vector<std::string> lines_of(std::string_view text);
bool is_source(std::string_view path);  // .cpp or .cu
bool is_header(std::string_view path);  // .h or .cuh

std::string at_line(const SourceFile& file, std::size_t index, const std::string& what);

// All findings, one a line, for a test's message.
std::string joined(const Findings& findings);

}  // namespace lockstep::test
