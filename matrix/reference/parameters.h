// The reference's own list of parameters, in the order in which the model registers them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/case.h"
#include "core/config/data.h"
#include "simulator/checks/oracle.h"

namespace lockstep::matrix {

struct ParameterInfo {
  std::string name;
  std::vector<std::int64_t> shape;
  InitKind kind = InitKind::kWeight;
  std::int64_t fan_in = 1;  // of a weight
};

std::vector<ParameterInfo> list_parameters(const Model& model);

using Tensors = std::vector<sim::OracleTensor>;

Tensors initial_parameters(const Case& c);
Tensors zeros_like(const Tensors& tensors);

// The values of the tensor of that name, empty where there is none.
std::span<const double> values_of(const Tensors& tensors, std::string_view name);
std::span<double> values_of(Tensors& tensors, std::string_view name);

}  // namespace lockstep::matrix
