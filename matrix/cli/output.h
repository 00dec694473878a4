// Standard output that may be closed: a reader that has seen enough is no error.
#pragma once

#include <string_view>

namespace lockstep::matrix {

// Writes all of it now. UsageError where the text is lost for another reason than a closed pipe.
void print_out(std::string_view text);

// One line on standard error, whatever the message holds.
void print_error(std::string_view message);

// Makes sure that descriptors 0, 1 and 2 are open, so that no file or pipe takes their place, and
// that writing to a closed pipe is an error code instead of a signal.
void guard_standard_streams();

}  // namespace lockstep::matrix
