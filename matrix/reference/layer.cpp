// Finds a layer's parameters by name, and runs its two blocks.
#include "matrix/reference/layer.h"

namespace lockstep::matrix {
namespace {

constexpr const char* kSink = "core_attention.softmax_offset";

std::string prefix_of(std::int64_t number) {
  return "decoder.layers." + std::to_string(number) + ".";
}

LinearWeights linear_weights(const Tensors& parameters,
                             const std::string& prefix,
                             std::int64_t num_inputs) {
  return {
      values_of(parameters, prefix + "weight"), values_of(parameters, prefix + "bias"), num_inputs};
}

LinearGradients linear_gradients(Tensors& gradients, const std::string& prefix) {
  return {.weight_OI = values_of(gradients, prefix + "weight"),
          .bias_O = values_of(gradients, prefix + "bias")};
}

AttentionWeights attention_weights(const Model& model,
                                   const Tensors& parameters,
                                   const std::string& prefix) {
  return {.prefix = prefix,
          .norm = norm_weights(model, parameters, prefix + "linear_qkv.layer_norm_"),
          .qkv = linear_weights(parameters, prefix + "linear_qkv.", model.hidden_size),
          .q_norm = norm_weights(model, parameters, prefix + "q_layernorm."),
          .k_norm = norm_weights(model, parameters, prefix + "k_layernorm."),
          .sink_Q = values_of(parameters, prefix + kSink),
          .proj = linear_weights(
              parameters, prefix + "linear_proj.", model.num_attention_heads * model.head_dim)};
}

AttentionGradients attention_gradients(Tensors& gradients, const std::string& prefix) {
  return {.norm = norm_gradients(gradients, prefix + "linear_qkv.layer_norm_"),
          .qkv = linear_gradients(gradients, prefix + "linear_qkv."),
          .q_norm = norm_gradients(gradients, prefix + "q_layernorm."),
          .k_norm = norm_gradients(gradients, prefix + "k_layernorm."),
          .sink_Q = values_of(gradients, prefix + kSink),
          .proj = linear_gradients(gradients, prefix + "linear_proj.")};
}

MlpWeights mlp_weights(const Model& model, const Tensors& parameters, const std::string& prefix) {
  return {.prefix = prefix,
          .kind = model.mlp,
          .norm = norm_weights(model, parameters, prefix + "linear_fc1.layer_norm_"),
          .fc1 = linear_weights(parameters, prefix + "linear_fc1.", model.hidden_size),
          .fc2 = linear_weights(parameters, prefix + "linear_fc2.", model.intermediate_size)};
}

MlpGradients mlp_gradients(Tensors& gradients, const std::string& prefix) {
  return {.norm = norm_gradients(gradients, prefix + "linear_fc1.layer_norm_"),
          .fc1 = linear_gradients(gradients, prefix + "linear_fc1."),
          .fc2 = linear_gradients(gradients, prefix + "linear_fc2.")};
}

}  // namespace

NormWeights norm_weights(const Model& model, const Tensors& parameters, const std::string& prefix) {
  return {.kind = model.norm,
          .eps = model.norm_eps,
          .weight_H = values_of(parameters, prefix + "weight"),
          .bias_H = values_of(parameters, prefix + "bias")};
}

NormGradients norm_gradients(Tensors& gradients, const std::string& prefix) {
  return {.weight_H = values_of(gradients, prefix + "weight"),
          .bias_H = values_of(gradients, prefix + "bias")};
}

LayerSetting layer_setting(const Case& c) {
  const Model& model = c.model;
  LayerSetting setting{.sizes = {.seq = c.recipe.seq,
                                 .query_heads = model.num_attention_heads,
                                 .groups = model.num_key_value_heads,
                                 .head_dim = model.head_dim},
                       .sliding_window = model.sliding_window,
                       .qk_norm = model.qk_norm,
                       .rotary = {},
                       .dropout = {.probability = c.recipe.dropout, .seed = c.recipe.seed}};
  if (model.attention == Attention::kCausal && model.position == Position::kRope) {
    setting.rotary = Rotary(model.rope_theta, c.recipe.seq, model.head_dim);
  }
  return setting;
}

Layer::Layer(const Model& model, const Tensors& parameters, Tensors& gradients, std::int64_t number)
    : mlp_(mlp_weights(model, parameters, prefix_of(number) + "mlp.")),
      mlp_gradients_(mlp_gradients(gradients, prefix_of(number) + "mlp.")) {
  if (model.attention == Attention::kNone) return;
  const std::string prefix = prefix_of(number) + "self_attention.";
  attention_ = attention_weights(model, parameters, prefix);
  attention_gradients_ = attention_gradients(gradients, prefix);
}

LayerSaved Layer::forward(Matrix& x_TH, Pass& pass) const {
  LayerSaved saved;
  if (attention_.has_value()) saved.attention = self_attention(x_TH, *attention_, pass);
  saved.mlp = mlp(x_TH, mlp_, pass);
  return saved;
}

void Layer::backward(Matrix& dx_TH, const Pass& pass, const LayerSaved& saved) const {
  mlp_backward(dx_TH, saved.mlp, mlp_, pass, mlp_gradients_);
  if (!attention_.has_value()) return;
  self_attention_backward(dx_TH, saved.attention, *attention_, pass, attention_gradients_);
}

}  // namespace lockstep::matrix
