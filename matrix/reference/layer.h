// One layer of the decoder: attention, where the model has it, then the MLP.
#pragma once

#include <optional>
#include <string>

#include "core/config/case.h"
#include "matrix/reference/mlp.h"
#include "matrix/reference/parameters.h"
#include "matrix/reference/self_attention.h"

namespace lockstep::matrix {

// A norm of the model by its parameters' prefix, which ends where "weight" begins.
NormWeights norm_weights(const Model& model, const Tensors& parameters, const std::string& prefix);
NormGradients norm_gradients(Tensors& gradients, const std::string& prefix);

LayerSetting layer_setting(const Case& c);

// What the backward reads again.
struct LayerSaved {
  AttentionSaved attention;
  MlpSaved mlp;
};

// A layer's weights, and where its gradients are added.
class Layer {
 public:
  Layer(const Model& model, const Tensors& parameters, Tensors& gradients, std::int64_t number);

  // Turns the layer's input into its output.
  LayerSaved forward(Matrix& x_TH, Pass& pass) const;

  // Turns the gradient of the output into that of the input, and adds to the layer's gradients.
  void backward(Matrix& dx_TH, const Pass& pass, const LayerSaved& saved) const;

 private:
  std::optional<AttentionWeights> attention_;
  AttentionGradients attention_gradients_;
  MlpWeights mlp_;
  MlpGradients mlp_gradients_;
};

}  // namespace lockstep::matrix
