// Copies the process's own environment.
#include "matrix/launch/environment.h"

#include <unistd.h>

#include <string_view>

namespace lockstep::matrix {

Environment own_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    // The first of two entries of one name counts, as with getenv.
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

}  // namespace lockstep::matrix
