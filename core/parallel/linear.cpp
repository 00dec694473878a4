// Parallel linear maps: a mapping before or after the product.
#include "core/parallel/linear.h"

#include <utility>

namespace lockstep {

ColumnParallelLinear::ColumnParallelLinear(const std::string& name, Parameter weight)
    : copy_(MappingKind::kCopy, GroupKind::kTp, name), weight_(std::move(weight)) {}

Variable ColumnParallelLinear::forward(const RankContext& context,
                                       Tape& tape,
                                       const Variable& x) const {
  return linear(tape, apply(context, tape, copy_, x), weight_);
}

RowParallelLinear::RowParallelLinear(const std::string& name, Parameter weight)
    : reduce_(MappingKind::kReduce, GroupKind::kTp, name), weight_(std::move(weight)) {}

Variable RowParallelLinear::forward(const RankContext& context,
                                    Tape& tape,
                                    const Variable& x) const {
  return apply(context, tape, reduce_, linear(tape, x, weight_));
}

}  // namespace lockstep
