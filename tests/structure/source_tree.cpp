// Reads the source tree, and tells code from comments and strings.
#include "tests/structure/source_tree.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace lockstep::test {
namespace {

constexpr std::array<std::string_view, 5> kSourceFolders = {
    "core", "backends", "simulator", "matrix", "tests"};

std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// Where the literal or comment that starts at `begin` ends; `begin` where none starts there.
std::size_t end_of_blank(std::string_view text, std::size_t begin) {
  const auto clipped = [&](std::size_t position, std::size_t length) {
    return position == std::string_view::npos ? text.size() : position + length;
  };
  const std::string_view rest = text.substr(begin);
  if (rest.starts_with("//")) return clipped(text.find('\n', begin), 0);
  if (rest.starts_with("/*")) return clipped(text.find("*/", begin + 2), 2);
  const char quote = text[begin];
  if (quote == '"' && begin > 0 && text[begin - 1] == 'R') {
    const std::size_t open = text.find('(', begin);
    if (open == std::string_view::npos) return text.size();
    const std::string close = ")" + std::string(text.substr(begin + 1, open - begin - 1)) + "\"";
    return clipped(text.find(close, open), close.size());
  }
  const bool is_separator =
      quote == '\'' && begin > 0 && std::isxdigit(static_cast<unsigned char>(text[begin - 1])) != 0;
  if ((quote != '"' && quote != '\'') || is_separator) return begin;
  std::size_t end = begin + 1;
  while (end < text.size() && text[end] != quote && text[end] != '\n') {
    end += text[end] == '\\' ? 2U : 1U;
  }
  return std::min(end + 1, text.size());
}

// An #include's path looks like a string and must stay readable.
bool is_in_include(std::string_view text, std::size_t position) {
  const std::size_t newline = text.rfind('\n', position);
  const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  return text.substr(begin).starts_with("#include");
}

}  // namespace

std::vector<SourceFile> read_tree(const std::filesystem::path& root) {
  std::vector<SourceFile> files;
  for (const std::string_view folder : kSourceFolders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string path = entry.path().lexically_relative(root).generic_string();
      const std::string name = entry.path().filename().string();
      const bool is_text = name == "CMakeLists.txt" || name == "README.md";
      if (!entry.is_regular_file() || !(is_text || is_source(path) || is_header(path))) continue;
      files.push_back({.path = path, .text = read_file(entry.path())});
    }
  }
  std::sort(files.begin(), files.end(), [](const SourceFile& a, const SourceFile& b) {
    return a.path < b.path;
  });
  return files;
}

std::string code_only(std::string_view text) {
  std::string code(text);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = is_in_include(text, begin) ? begin : end_of_blank(text, begin);
    for (std::size_t i = begin; i < end; ++i) {
      if (code[i] != '\n') code[i] = ' ';
    }
    begin = std::max(end, begin + 1);
  }
  return code;
}

std::string folder_of(std::string_view path, int num_parts) {
  std::size_t end = 0;
  for (int part = 0; part < num_parts; ++part) {
    const std::size_t slash = path.find('/', part == 0 ? 0 : end + 1);
    if (slash == std::string_view::npos) break;
    end = slash;
  }
  return std::string(path.substr(0, end));
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

bool is_source(std::string_view path) { return path.ends_with(".cpp") || path.ends_with(".cu"); }

bool is_header(std::string_view path) { return path.ends_with(".h") || path.ends_with(".cuh"); }

std::string at_line(const SourceFile& file, std::size_t index, const std::string& what) {
  return file.path + ":" + std::to_string(index + 1) + ": " + what;
}

std::string joined(const Findings& findings) {
  std::string text;
  for (const std::string& finding : findings) text += finding + "\n";
  return text;
}

}  // namespace lockstep::test
