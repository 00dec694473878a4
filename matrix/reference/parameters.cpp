// Names, shapes and initial values.
#include "matrix/reference/parameters.h"

#include <utility>

namespace lockstep::matrix {
namespace {

// Appends to the list what modules of some kind hold.
class ParameterList {
 public:
  explicit ParameterList(const Model& model) : model_(model) {}

  void add_table(const std::string& name, std::int64_t fan_in) {
    list_.push_back({.name = name,
                     .shape = {model_.vocab_size, model_.hidden_size},
                     .kind = InitKind::kWeight,
                     .fan_in = fan_in});
  }

  // `prefix` ends where "weight" and "bias" begin.
  void add_norm(const std::string& prefix, std::int64_t size) {
    list_.push_back({.name = prefix + "weight", .shape = {size}, .kind = InitKind::kNormWeight});
    if (model_.norm == Norm::kLayer) add_bias(prefix, size);
  }

  void add_linear(const std::string& prefix, std::int64_t outputs, std::int64_t inputs) {
    list_.push_back({.name = prefix + "weight",
                     .shape = {outputs, inputs},
                     .kind = InitKind::kWeight,
                     .fan_in = inputs});
    if (model_.bias) add_bias(prefix, outputs);
  }

  // A logit of each query head.
  void add_sink(const std::string& prefix) {
    list_.push_back({.name = prefix + "softmax_offset",
                     .shape = {model_.num_attention_heads},
                     .kind = InitKind::kBias});
  }

  std::vector<ParameterInfo> take() { return std::move(list_); }

 private:
  void add_bias(const std::string& prefix, std::int64_t size) {
    list_.push_back({.name = prefix + "bias", .shape = {size}, .kind = InitKind::kBias});
  }

  const Model& model_;
  std::vector<ParameterInfo> list_;
};

void add_attention(const Model& model, const std::string& prefix, ParameterList& list) {
  const std::int64_t head_dim = model.head_dim;
  const std::int64_t heads = model.num_attention_heads + 2 * model.num_key_value_heads;
  list.add_norm(prefix + "linear_qkv.layer_norm_", model.hidden_size);
  list.add_linear(prefix + "linear_qkv.", heads * head_dim, model.hidden_size);
  if (model.qk_norm) {
    list.add_norm(prefix + "q_layernorm.", head_dim);
    list.add_norm(prefix + "k_layernorm.", head_dim);
  }
  if (model.attention_sink) list.add_sink(prefix + "core_attention.");
  list.add_linear(prefix + "linear_proj.", model.hidden_size, model.num_attention_heads * head_dim);
}

void add_mlp(const Model& model, const std::string& prefix, ParameterList& list) {
  const std::int64_t ffn = model.intermediate_size;
  list.add_norm(prefix + "linear_fc1.layer_norm_", model.hidden_size);
  list.add_linear(
      prefix + "linear_fc1.", model.mlp == Mlp::kGated ? 2 * ffn : ffn, model.hidden_size);
  list.add_linear(prefix + "linear_fc2.", model.hidden_size, ffn);
}

template <typename Values, typename AnyTensors>
Values find_values(AnyTensors& tensors, std::string_view name) {
  for (auto& tensor : tensors) {
    if (tensor.name == name) return tensor.values;
  }
  return {};
}

}  // namespace

std::vector<ParameterInfo> list_parameters(const Model& model) {
  ParameterList list(model);
  list.add_table("embedding.word_embeddings.weight", 1);
  for (std::int64_t layer = 0; layer < model.num_hidden_layers; ++layer) {
    const std::string prefix = "decoder.layers." + std::to_string(layer) + ".";
    if (model.attention == Attention::kCausal) {
      add_attention(model, prefix + "self_attention.", list);
    }
    add_mlp(model, prefix + "mlp.", list);
  }
  list.add_norm("decoder.final_layernorm.", model.hidden_size);
  if (!model.tied) list.add_table("output_layer.weight", model.hidden_size);
  return list.take();
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

std::span<const double> values_of(const Tensors& tensors, std::string_view name) {
  return find_values<std::span<const double>>(tensors, name);
}

std::span<double> values_of(Tensors& tensors, std::string_view name) {
  return find_values<std::span<double>>(tensors, name);
}

}  // namespace lockstep::matrix
