// The MLP's forward pass.
#include "core/model/mlp.h"

#include "core/base/errors.h"

namespace lockstep {
namespace {

Variable activated(Tape& tape, Mlp mlp, const Variable& x) {
  switch (mlp) {
    case Mlp::kGated:
      return gated_silu(tape, x);
    case Mlp::kPlain:
      return silu(tape, x);
  }
  throw InternalError("unknown mlp");
}

}  // namespace

MlpLayer::MlpLayer(const RankContext& context,
                   const Model& model,
                   const NamedParameters& parameters,
                   const std::string& name)
    : mlp_(model.mlp),
      norm_(model, parameters, name + ".linear_fc1.layer_norm_"),
      fc1_(context, name + ".linear_fc1", parameters.linear(name + ".linear_fc1")),
      fc2_(context, name + ".linear_fc2", parameters.linear(name + ".linear_fc2")) {}

Variable MlpLayer::forward(const RankContext& context,
                           Tape& tape,
                           const Variable& x,
                           std::vector<Tensor>& trace) const {
  const Variable normed = norm_.forward(tape, x);
  const Variable hidden = activated(tape, mlp_, fc1_.forward(context, tape, normed));
  trace.push_back(hidden.value);
  const Variable out = fc2_.forward(context, tape, hidden);
  trace.push_back(out.value);
  return out;
}

}  // namespace lockstep
