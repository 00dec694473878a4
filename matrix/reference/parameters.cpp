// Names, shapes and initial values.
#include "matrix/reference/parameters.h"

namespace lockstep::matrix {
namespace {

constexpr std::size_t kParametersALayer = 3;

std::size_t first_of_layer(std::int64_t layer) {
  return 1 + kParametersALayer * static_cast<std::size_t>(layer);
}

}  // namespace

std::vector<ParameterInfo> list_parameters(const Model& model) {
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t ffn = model.intermediate_size;
  const std::int64_t vocab = model.vocab_size;
  std::vector<ParameterInfo> list;
  list.push_back({"embedding.word_embeddings.weight", {vocab, hidden}, InitKind::kWeight, 1});
  for (std::int64_t layer = 0; layer < model.num_hidden_layers; ++layer) {
    const std::string mlp = "decoder.layers." + std::to_string(layer) + ".mlp.";
    list.push_back({mlp + "linear_fc1.layer_norm_weight", {hidden}, InitKind::kNormWeight, 1});
    list.push_back({mlp + "linear_fc1.weight", {ffn, hidden}, InitKind::kWeight, hidden});
    list.push_back({mlp + "linear_fc2.weight", {hidden, ffn}, InitKind::kWeight, ffn});
  }
  list.push_back({"decoder.final_layernorm.weight", {hidden}, InitKind::kNormWeight, 1});
  list.push_back({"output_layer.weight", {vocab, hidden}, InitKind::kWeight, hidden});
  return list;
}

Tensors initial_parameters(const Case& c) {
  Tensors tensors;
  for (const ParameterInfo& info : list_parameters(c.model)) {
    std::int64_t count = 1;
    for (const std::int64_t size : info.shape) count *= size;
    sim::OracleTensor tensor{.name = info.name, .shape = info.shape, .values = {}};
    tensor.values.reserve(static_cast<std::size_t>(count));
    const InitialValues initial(c.recipe.seed, info.name, info.kind, info.fan_in);
    for (std::int64_t i = 0; i < count; ++i) tensor.values.push_back(initial[i]);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Tensors zeros_like(const Tensors& tensors) {
  Tensors zeros;
  for (const sim::OracleTensor& tensor : tensors) {
    zeros.push_back({.name = tensor.name,
                     .shape = tensor.shape,
                     .values = std::vector<double>(tensor.values.size())});
  }
  return zeros;
}

std::size_t final_norm_of(const Tensors& tensors) { return tensors.size() - 2; }
std::size_t output_of(const Tensors& tensors) { return tensors.size() - 1; }

MlpWeights mlp_weights(const Tensors& parameters, std::int64_t layer) {
  const std::size_t first = first_of_layer(layer);
  return {.norm_H = parameters[first].values,
          .fc1_FH = parameters[first + 1].values,
          .fc2_HF = parameters[first + 2].values};
}

MlpGradients mlp_gradients(Tensors& gradients, std::int64_t layer) {
  const std::size_t first = first_of_layer(layer);
  return {.norm_H = gradients[first].values,
          .fc1_FH = gradients[first + 1].values,
          .fc2_HF = gradients[first + 2].values};
}

}  // namespace lockstep::matrix
