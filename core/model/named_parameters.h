// How modules find their parameters: by Megatron-core's names, in the one table.
#pragma once

#include <optional>
#include <string>

#include "core/model/parameters.h"
#include "core/parallel/linear.h"

namespace lockstep {

// A view: table and parameters outlive it.
class NamedParameters {
 public:
  NamedParameters(const ParameterTable& table, const Parameters& parameters)
      : table_(table), parameters_(parameters) {}

  // InternalError where the table lacks it.
  Parameter of(const std::string& name) const;
  const ParameterSpec& spec_of(const std::string& name) const;
  // None where the model has no such parameter.
  std::optional<Parameter> find(const std::string& name) const;
  // `name`.weight, and `name`.bias where the model has one.
  LinearParameters linear(const std::string& name) const;

 private:
  const ParameterTable& table_;
  const Parameters& parameters_;
};

}  // namespace lockstep
