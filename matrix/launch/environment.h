// Environment variables as a value.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace lockstep::matrix {

using Environment = std::map<std::string, std::string, std::less<>>;

// A copy of this process's own.
Environment own_environment();

}  // namespace lockstep::matrix
