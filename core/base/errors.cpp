// Turns a failed check into an error that names the place.
#include "core/base/errors.h"

namespace lockstep {

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  throw InternalError(message + " [" + condition + " at " + file + ":" + std::to_string(line) +
                      "]");
}

}  // namespace lockstep
