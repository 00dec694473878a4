// The norm that the model names.
#include "core/model/norm_layer.h"

#include "core/autograd/functions.h"
#include "core/base/errors.h"

namespace lockstep {

NormLayer::NormLayer(const Model& model,
                     const NamedParameters& parameters,
                     const std::string& prefix)
    : norm_(model.norm),
      weight_(parameters.of(prefix + "weight")),
      bias_(parameters.find(prefix + "bias")),
      eps_(model.norm_eps) {}

Variable NormLayer::forward(Tape& tape, const Variable& x) const {
  switch (norm_) {
    case Norm::kRms:
      return rms_norm(tape, x, weight_, eps_);
    case Norm::kLayer:
      return layer_norm(tape, x, {.g = weight_, .b = bias_.value()}, eps_);
  }
  throw InternalError("unknown norm");
}

}  // namespace lockstep
