// The reference's own list of parameters, in the order in which the model registers them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/config/case.h"
#include "core/config/data.h"
#include "matrix/reference/mlp.h"
#include "simulator/checks/oracle.h"

namespace lockstep::matrix {

struct ParameterInfo {
  std::string name;
  std::vector<std::int64_t> shape;
  InitKind kind;
  std::int64_t fan_in;
};

std::vector<ParameterInfo> list_parameters(const Model& model);

using Tensors = std::vector<sim::OracleTensor>;

Tensors initial_parameters(const Case& c);
Tensors zeros_like(const Tensors& tensors);

// Positions in the list.
inline constexpr std::size_t kEmbedding = 0;
std::size_t final_norm_of(const Tensors& tensors);
std::size_t output_of(const Tensors& tensors);

MlpWeights mlp_weights(const Tensors& parameters, std::int64_t layer);
MlpGradients mlp_gradients(Tensors& gradients, std::int64_t layer);

}  // namespace lockstep::matrix
