// Parallel linear maps: a mapping before or after the product.
#include "core/parallel/linear.h"

#include <utility>

#include "core/base/errors.h"

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

Variable RowParallelLinear::forward(const RankContext& context,
                                    Tape& tape,
                                    const Variable& x) const {
  const Variable partial = linear(tape, x, parameters_.weight);
  switch (context.mappings.row_bias) {
    case RowBias::kAfterLeaving:
      return biased(tape, apply(context, tape, leave_, partial), parameters_.bias);
    case RowBias::kBeforeLeaving:
      return apply(context, tape, leave_, biased(tape, partial, parameters_.bias));
  }
  throw InternalError("unknown place of a row-parallel bias");
}

}  // namespace lockstep
