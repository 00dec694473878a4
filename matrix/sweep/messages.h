// What the command sends to a worker: one line of JSON a case. The answer is a result line.
#pragma once

#include <string>
#include <string_view>

#include "core/config/case.h"

namespace lockstep::matrix {

struct WorkerRequest {
  std::string name;
  Case c;
};

std::string request_to_json(const std::string& name, const Case& c);
// UsageError for anything that request_to_json did not write.
WorkerRequest request_from_json(std::string_view line);

}  // namespace lockstep::matrix
