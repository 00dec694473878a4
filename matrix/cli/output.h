// Standard output that may be closed: a reader that has seen enough is no error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep::matrix {

// Writes all of it now. UsageError where the text is lost for another reason than a closed pipe.
void print_out(std::string_view text);

// The message as one line that a terminal shows as it is: no control characters, and not endless.
std::string error_line(std::string_view message);

// That line on standard error.
void print_error(std::string_view message);

// Columns of the terminal that standard output is; 0 where it is none or does not say.
std::size_t terminal_width();

// Makes sure that descriptors 0, 1 and 2 are open, so that no file or pipe takes their place, and
// that writing to a closed pipe, or beyond the largest file, is an error code instead of a signal.
void guard_standard_streams();

}  // namespace lockstep::matrix
