// Parallel linear maps: a mapping before or after the product.
#include "core/parallel/linear.h"

#include <utility>

namespace lockstep {
namespace {

Variable biased(Tape& tape, const Variable& y, const std::optional<Parameter>& bias) {
  return bias.has_value() ? add_bias(tape, y, *bias) : y;
}

}  // namespace

ColumnParallelLinear::ColumnParallelLinear(const RankContext& context,
                                           const std::string& name,
                                           LinearParameters parameters)
    : enter_(context.mappings.enter, GroupKind::kTp, name), parameters_(std::move(parameters)) {}

Variable ColumnParallelLinear::forward(const RankContext& context,
                                       Tape& tape,
                                       const Variable& x) const {
  const Variable entered = apply(context, tape, enter_, x);
  return biased(tape, linear(tape, entered, parameters_.weight), parameters_.bias);
}

RowParallelLinear::RowParallelLinear(const RankContext& context,
                                     const std::string& name,
                                     LinearParameters parameters)
    : leave_(context.mappings.leave, GroupKind::kTp, name), parameters_(std::move(parameters)) {}

// The bias is added once, after the sum over ranks.
Variable RowParallelLinear::forward(const RankContext& context,
                                    Tape& tape,
                                    const Variable& x) const {
  const Variable partial = linear(tape, x, parameters_.weight);
  return biased(tape, apply(context, tape, leave_, partial), parameters_.bias);
}

}  // namespace lockstep
