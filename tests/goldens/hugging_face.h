// From a Hugging Face checkpoint to Lockstep's model: sizes, names, and how fused weights are laid.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/case.h"
#include "simulator/checks/oracle.h"

namespace lockstep::test {

// The model that a config.json describes; Qwen3 and Llama. UsageError for what Lockstep cannot say.
Model model_from_config(std::string_view json);

// How one tensor of ours is put together from Hugging Face's.
enum class Join {
  kRows,       // one after the other: [gate; up], or a single one
  kQkvGroups,  // by group of query heads: [q heads | k | v], [q heads | k | v] ...
};

struct Source {
  std::vector<std::string> names;
  Join join = Join::kRows;
};

// Where a parameter of Megatron-core's name comes from.
Source source_of(const std::string& name);

// Row-major values of the sources, in their order, put together as `join` says.
std::vector<double> join_rows(Join join,
                              const std::vector<std::vector<double>>& sources,
                              const Model& model);

}  // namespace lockstep::test
