// What NCCL must find in the environment, and which versions can do what: decisions without NCCL.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::backends {

// NCCL's number of a version: 23007 is 2.30.7.
std::string nccl_version_text(int version);

// Empty where a NCCL of that version can serve ranks that are threads, so many on one GPU; else one
// sentence.
std::string why_not_so_many(int version, int ranks_per_gpu);

struct Variable {
  std::string name;
  std::string value;
  std::string instead_of = {};  // what it was, where that is replaced
};
// What is to be set so that ranks can share a GPU, seen what is there.
std::vector<Variable> plan_environment(
    const std::function<std::optional<std::string>(const std::string& name)>& value_of);
// "A=1 B=2 (instead of 4)".
std::string to_text(const std::vector<Variable>& variables);

}  // namespace lockstep::backends
