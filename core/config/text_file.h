// Reading a small text file that a user named, whatever lies at that path.
#pragma once

#include <cstddef>
#include <string>

namespace lockstep {

// A folder, a file of more than `max_bytes`, and a pipe that nobody writes to are refused with a
// UsageError that begins with the path; none of them blocks or fills the memory.
std::string read_text_file(const std::string& path, std::size_t max_bytes);

}  // namespace lockstep
