// Rules about the text of one file: its size, its first line, and what must not occur in it.
#pragma once

#include <vector>

#include "tests/structure/source_tree.h"

namespace lockstep::test {

inline constexpr std::size_t kMaxFileLines = 400;
inline constexpr std::size_t kMaxFunctionLines = 70;
inline constexpr std::size_t kMaxLineLength = 100;

// At most 400 lines a file and 100 characters a line; the first line is a sentence in a comment.
Findings check_sizes(const std::vector<SourceFile>& files);

// At most 70 lines from a function's name to its closing brace.
Findings check_function_lengths(const std::vector<SourceFile>& files);

// No <ranges>, using namespace, thread_local, catch (...), sleep or TODO, but where a table allows.
Findings check_banned(const std::vector<SourceFile>& files);

// No skipped or disabled test, but those that a table names with their reason.
Findings check_skipped_tests(const std::vector<SourceFile>& files);

// No variable that outlives a function and can change: at namespace scope, or static in a function.
Findings check_globals(const std::vector<SourceFile>& files);

}  // namespace lockstep::test
