// Column- and row-parallel linear maps (semantics, sections 2.2 and 2.3).
//
// How they are entered and left follows from the plan of mappings: x and y outside them are
// replicated, or cut by tokens under sequence parallelism.
#pragma once

#include <optional>
#include <string>

#include "core/autograd/functions.h"
#include "core/parallel/mappings.h"

namespace lockstep {

struct LinearParameters {
  Parameter weight;  // [out, in]
  std::optional<Parameter> bias = {};
};

// y_r = x W_r^T + b_r: W and b cut along out; y cut along its last dim, with all tokens.
class ColumnParallelLinear {
 public:
  ColumnParallelLinear(const RankContext& context,
                       const std::string& name,
                       LinearParameters parameters);
  Variable forward(const RankContext& context, Tape& tape, const Variable& x) const;

 private:
  MappingSite enter_;
  LinearParameters parameters_;
};

// y = sum over r of x_r W_r^T, + b, where the plan says: W cut along in, b replicated; x cut along
// its last dim, with all tokens.
class RowParallelLinear {
 public:
  RowParallelLinear(const RankContext& context,
                    const std::string& name,
                    LinearParameters parameters);
  Variable forward(const RankContext& context, Tape& tape, const Variable& x) const;

 private:
  MappingSite leave_;
  LinearParameters parameters_;
};

}  // namespace lockstep
