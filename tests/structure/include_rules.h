// Who may include whom: the arrows between folders, and which files may see which dependency.
#pragma once

#include <vector>

#include "tests/structure/source_tree.h"

namespace lockstep::test {

// #include "folder/file.h" goes along an arrow of the table in include_rules.cpp.
Findings check_arrows(const std::vector<SourceFile>& files);

// #include <library/file.h> is allowed to that file, and no more files than agreed see a library.
Findings check_dependencies(const std::vector<SourceFile>& files);

}  // namespace lockstep::test
