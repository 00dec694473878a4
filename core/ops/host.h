// Between host memory and tensors: labelled launches like any other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ops/context.h"

namespace lockstep {

// New tensors holding host values, rounded to their type.
Tensor reals_from_host(const OpContext& ops,
                       DType dtype,
                       std::span<const double> values,
                       const Shape& shape,
                       std::string_view label);
Tensor integers_from_host(const OpContext& ops,
                          std::span<const std::int64_t> values,
                          const Shape& shape,
                          std::string_view label);
// Overwrites a tensor.
void write_reals(const OpContext& ops,
                 std::span<const double> values,
                 const Tensor& to,
                 std::string_view label);

// Waits for the work on `tensor`. On a device without data `assumed` comes back for each element.
std::vector<double> read_reals(const OpContext& ops,
                               const Tensor& tensor,
                               std::string_view label,
                               double assumed = 0.0);

}  // namespace lockstep
