// Nothing lies about unused: every source is in a target, every test in a suite, every folder
// known.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/structure/source_tree.h"

namespace lockstep::test {

// Every source is named by the nearest CMakeLists.txt above it; every *_test.cpp within a
// lockstep_test(...); every CMakeLists.txt by an add_subdirectory(...) above it.
Findings check_listed(const std::vector<SourceFile>& files);

// Every folder of two parts that holds code, outside tests/, tells in a README.md what lives there.
Findings check_readmes(const std::vector<SourceFile>& files);

// Names of top-level folders: only the agreed ones, and those that .gitignore keeps out.
Findings check_top_folders(const std::vector<std::string>& folders, std::string_view gitignore);

// The names of the folders directly below `root`.
std::vector<std::string> top_folders(const std::filesystem::path& root);

}  // namespace lockstep::test
