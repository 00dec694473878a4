// Writes a whole text to a descriptor, through interrupts and short writes.
#pragma once

#include <string_view>

namespace lockstep::matrix {

// False, with errno set, where the descriptor does not take it.
bool write_all(int descriptor, std::string_view text);

}  // namespace lockstep::matrix
