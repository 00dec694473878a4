// Column- and row-parallel linear maps (semantics, sections 2.2 and 2.3), without bias.
#pragma once

#include <string>

#include "core/autograd/functions.h"
#include "core/parallel/mappings.h"

namespace lockstep {

// y_r = x W_r^T: W [out, in] cut along out; x replicated, y cut along its last dim.
class ColumnParallelLinear {
 public:
  ColumnParallelLinear(const std::string& name, Parameter weight);
  Variable forward(const RankContext& context, Tape& tape, const Variable& x) const;

 private:
  MappingSite copy_;
  Parameter weight_;
};

// y = sum over r of x_r W_r^T: W cut along in; x cut along its last dim, y replicated.
class RowParallelLinear {
 public:
  RowParallelLinear(const std::string& name, Parameter weight);
  Variable forward(const RankContext& context, Tape& tape, const Variable& x) const;

 private:
  MappingSite reduce_;
  Parameter weight_;
};

}  // namespace lockstep
