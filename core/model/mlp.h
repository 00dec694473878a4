// The MLP of one layer: W2 f(W1 norm(x)), W1 column- and W2 row-parallel; f is SiLU, or of a gated
// one silu(gate) up.
#pragma once

#include <string>
#include <vector>

#include "core/model/norm_layer.h"
#include "core/parallel/linear.h"

namespace lockstep {

class MlpLayer {
 public:
  // `name` is decoder.layers.0.mlp.
  MlpLayer(const RankContext& context,
           const Model& model,
           const NamedParameters& parameters,
           const std::string& name);

  // What is to be added to the residual stream x.
  Variable forward(const RankContext& context,
                   Tape& tape,
                   const Variable& x,
                   std::vector<Tensor>& trace) const;

 private:
  Mlp mlp_;
  NormLayer norm_;
  ColumnParallelLinear fc1_;
  RowParallelLinear fc2_;
};

}  // namespace lockstep
