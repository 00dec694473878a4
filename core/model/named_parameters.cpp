// Looking parameters up by name.
#include "core/model/named_parameters.h"

#include "core/model/describe_model.h"

namespace lockstep {

Parameter NamedParameters::of(const std::string& name) const {
  return parameters_[find_parameter(table_, name)];
}

const ParameterSpec& NamedParameters::spec_of(const std::string& name) const {
  return table_[static_cast<std::size_t>(find_parameter(table_, name).value)];
}

std::optional<Parameter> NamedParameters::find(const std::string& name) const {
  for (std::size_t i = 0; i < table_.size(); ++i) {
    if (table_[i].name == name) return parameters_[{static_cast<int>(i)}];
  }
  return std::nullopt;
}

LinearParameters NamedParameters::linear(const std::string& name) const {
  return {.weight = of(name + ".weight"), .bias = find(name + ".bias")};
}

}  // namespace lockstep
