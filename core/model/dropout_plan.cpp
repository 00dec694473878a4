// The dropout plan and its sites.
#include "core/model/dropout_plan.h"

#include <fmt/format.h>

#include <utility>

#include "core/base/errors.h"
#include "core/config/data.h"

namespace lockstep {
namespace {

std::string_view name_of(RandomStream stream) {
  switch (stream) {
    case RandomStream::kDefault:
      return "default";
    case RandomStream::kTensorParallel:
      return "tensor_parallel";
    case RandomStream::kExpert:
      return "expert";
  }
  throw InternalError("unknown random stream");
}

std::string line_of(const DropoutPlan& plan, RandomStream stream) {
  const StreamEntry& entry = plan.of(stream);
  std::string text = fmt::format("dropout.{}: seed {}", name_of(stream), entry.seed);
  if (entry.seed_axis.has_value()) text += fmt::format(" plus {}", name_of(*entry.seed_axis));
  return text + (entry.index == MaskIndex::kFull ? ", by full index\n" : ", by local index\n");
}

}  // namespace

const StreamEntry& DropoutPlan::of(RandomStream stream) const {
  switch (stream) {
    case RandomStream::kDefault:
      return default_stream;
    case RandomStream::kTensorParallel:
      return tensor_parallel_stream;
    case RandomStream::kExpert:
      return expert_stream;
  }
  throw InternalError("unknown random stream");
}

StreamEntry& DropoutPlan::of(RandomStream stream) {
  return const_cast<StreamEntry&>(std::as_const(*this).of(stream));
}

DropoutPlan plan_dropout(const Case& c) {
  const StreamEntry stream{.seed = c.recipe.seed};
  return {.probability = c.recipe.dropout,
          .default_stream = stream,
          .tensor_parallel_stream = stream,
          .expert_stream = stream,
          .residual = c.layout.sp ? RandomStream::kTensorParallel : RandomStream::kDefault};
}

std::string to_text(const DropoutPlan& plan) {
  if (plan.probability == 0.0) return "dropout: none\n";
  return fmt::format("dropout: {}, residual from {}, attention from {}, experts from {}\n",
                     plan.probability,
                     name_of(plan.residual),
                     name_of(plan.attention),
                     name_of(plan.experts)) +
         line_of(plan, RandomStream::kDefault) + line_of(plan, RandomStream::kTensorParallel) +
         line_of(plan, RandomStream::kExpert);
}

Dropout dropout_at(const DropoutPlan& plan,
                   RandomStream stream,
                   const RankContext& context,
                   const std::string& module) {
  const StreamEntry& entry = plan.of(stream);
  std::int64_t seed = entry.seed;
  if (entry.seed_axis.has_value()) {
    seed += context.mesh.coordinate(context.rank, *entry.seed_axis);
  }
  return {.probability = plan.probability,
          .seed = static_cast<std::uint64_t>(seed),
          .stream = dropout_stream(module)};
}

ResidualDropout::ResidualDropout(const RankContext& context,
                                 const DropoutPlan& plan,
                                 const std::string& module,
                                 std::int64_t width)
    : dropout_(dropout_at(plan, plan.residual, context, module)), width_(width) {}

Variable ResidualDropout::forward(Tape& tape, const Variable& x, const Tensor& rows) const {
  return dropout(tape, x, {.rows = rows, .width = width_}, dropout_);
}

}  // namespace lockstep
