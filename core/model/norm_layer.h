// RMSNorm or LayerNorm with its parameters.
#pragma once

#include <optional>
#include <string>

#include "core/config/case.h"
#include "core/model/named_parameters.h"

namespace lockstep {

class NormLayer {
 public:
  // `prefix` is what "weight" and "bias" are appended to. There is a bias where the model says
  // layer.
  NormLayer(const Model& model, const NamedParameters& parameters, const std::string& prefix);

  // Over the last dim of x.
  Variable forward(Tape& tape, const Variable& x) const;

 private:
  Norm norm_;
  Parameter weight_;
  std::optional<Parameter> bias_;
  double eps_;
};

}  // namespace lockstep
