// Reads CMakeLists.txt files as words: which sources, suites and folders each of them names.
#include "tests/structure/listing_rules.h"

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>

namespace lockstep::test {
namespace {

struct Listing {
  std::set<std::string> words;
  std::set<std::string> in_tests;      // words within lockstep_test(...)
  std::set<std::string> in_gpu_tests;  // words within lockstep_gpu_test(...)
  std::set<std::string> folders;       // of add_subdirectory(...)
};

std::set<std::string> words_of(const std::string& text) {
  static const std::regex kWord("[^\\s()\"]+");
  std::set<std::string> words;
  for (std::sregex_iterator i(text.begin(), text.end(), kWord), end; i != end; ++i) {
    words.insert(i->str());
  }
  return words;
}

// The arguments of every call of `command`.
std::set<std::string> arguments_of(const std::string& command, const std::string& text) {
  const std::regex pattern("\\b" + command + R"(\s*\(([^)]*)\))");
  std::string arguments;
  for (std::sregex_iterator i(text.begin(), text.end(), pattern), end; i != end; ++i) {
    arguments += (*i)[1].str() + " ";
  }
  return words_of(arguments);
}

std::string without_comments(const std::string& text) {
  static const std::regex kComment("#[^\n]*");
  return std::regex_replace(text, kComment, "");
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// By folder.
std::map<std::string, Listing> listings_of(const std::vector<SourceFile>& files) {
  std::map<std::string, Listing> listings;
  for (const SourceFile& file : files) {
    if (!file.path.ends_with("CMakeLists.txt")) continue;
    const std::string text = without_comments(file.text);
    listings[parent_of(file.path)] = {.words = words_of(text),
                                      .in_tests = arguments_of("lockstep_test", text),
                                      .in_gpu_tests = arguments_of("lockstep_gpu_test", text),
                                      .folders = arguments_of("add_subdirectory", text)};
  }
  return listings;
}

// The nearest folder above `path` that has a listing, "" where none has.
std::string listed_folder(const std::map<std::string, Listing>& listings, const std::string& path) {
  std::string folder = parent_of(path);
  while (!folder.empty() && !listings.contains(folder)) folder = parent_of(folder);
  return folder;
}

std::string source_problem(const std::map<std::string, Listing>& listings,
                           const std::string& path) {
  const std::string folder = listed_folder(listings, path);
  if (folder.empty()) return "has no CMakeLists.txt above it";
  const Listing& listing = listings.at(folder);
  const std::string name = path.substr(folder.size() + 1);
  if (!listing.words.contains(name)) return "is not listed in " + folder + "/CMakeLists.txt";
  if (!path.starts_with("tests/") || !path.ends_with("_test.cpp")) return "";
  // ctest does not run what needs a GPU, so nothing else may hide there.
  if (path.ends_with("_gpu_test.cpp")) {
    return listing.in_gpu_tests.contains(name) ? "" : "is in no lockstep_gpu_test(...)";
  }
  return listing.in_tests.contains(name) ? "" : "is in no lockstep_test(...)";
}

// The folders that the top-level CMakeLists.txt adds are not below another listing.
std::string folder_problem(const std::map<std::string, Listing>& listings,
                           const std::string& folder) {
  if (parent_of(folder).empty()) return "";
  const std::string above = listed_folder(listings, folder);
  if (above.empty()) return "has no CMakeLists.txt above it";
  const bool added = listings.at(above).folders.contains(folder.substr(above.size() + 1));
  return added ? "" : "is not added by " + above + "/CMakeLists.txt";
}

}  // namespace

Findings check_listed(const std::vector<SourceFile>& files) {
  const std::map<std::string, Listing> listings = listings_of(files);
  Findings findings;
  for (const SourceFile& file : files) {
    if (!is_source(file.path)) continue;
    const std::string problem = source_problem(listings, file.path);
    if (!problem.empty()) findings.push_back(file.path + " " + problem);
  }
  for (const auto& [folder, listing] : listings) {
    const std::string problem = folder_problem(listings, folder);
    if (!problem.empty()) findings.push_back(folder + "/CMakeLists.txt " + problem);
  }
  return findings;
}

Findings check_readmes(const std::vector<SourceFile>& files) {
  std::set<std::string> with_code;
  std::set<std::string> with_readme;
  for (const SourceFile& file : files) {
    if (file.path.starts_with("tests/")) continue;
    if (is_source(file.path) || is_header(file.path)) with_code.insert(folder_of(file.path, 2));
    if (file.path.ends_with("/README.md")) with_readme.insert(parent_of(file.path));
  }
  Findings findings;
  for (const std::string& folder : with_code) {
    if (!with_readme.contains(folder)) findings.push_back(folder + " has no README.md");
  }
  return findings;
}

Findings check_top_folders(const std::vector<std::string>& folders, std::string_view gitignore) {
  static constexpr std::array<std::string_view, 9> kAgreed = {
      ".ci", ".git", "backends", "ci", "core", "matrix", "simulator", "tests"};
  const std::vector<std::string> ignored = lines_of(gitignore);
  Findings findings;
  for (const std::string& folder : folders) {
    const bool agreed = std::find(kAgreed.begin(), kAgreed.end(), folder) != kAgreed.end();
    const bool is_ignored =
        std::find(ignored.begin(), ignored.end(), "/" + folder + "/") != ignored.end();
    if (!agreed && !is_ignored) findings.push_back(folder + "/ is no agreed top-level folder");
  }
  return findings;
}

std::vector<std::string> top_folders(const std::filesystem::path& root) {
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (entry.is_directory()) folders.push_back(entry.path().filename().string());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace lockstep::test
