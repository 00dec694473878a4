// x0 = E[token]; every layer adds its attention and its MLP; logits = norm(x) woutᵀ.
#include "matrix/reference/decoder.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/base/errors.h"
#include "matrix/reference/layer.h"
#include "matrix/reference/vocabulary.h"

namespace lockstep::matrix {
namespace {

constexpr const char* kEmbedding = "embedding.word_embeddings.weight";
constexpr const char* kFinalNorm = "decoder.final_layernorm.";

const char* head_name(const Model& model) {
  return model.tied ? kEmbedding : "output_layer.weight";
}

// The weights laid out for a batch, and where gradients are added: a tied head adds to the
// embedding's.
struct Decoder {
  const Case& c;
  AttentionSetting setting;
  std::vector<Layer> layers;
  std::span<const double> embedding_VH;
  NormWeights final_norm;
  LinearWeights output_layer;
  std::span<double> embedding_gradient_VH;
  NormGradients final_norm_gradients;
  LinearGradients output_layer_gradients;
};

Decoder make_decoder(const Case& c, const Tensors& parameters, Tensors& gradients) {
  const Model& model = c.model;
  Decoder decoder{.c = c,
                  .setting = attention_setting(c),
                  .layers = {},
                  .embedding_VH = values_of(parameters, kEmbedding),
                  .final_norm = norm_weights(model, parameters, kFinalNorm),
                  .output_layer = {values_of(parameters, head_name(model)), {}, model.hidden_size},
                  .embedding_gradient_VH = values_of(gradients, kEmbedding),
                  .final_norm_gradients = norm_gradients(gradients, kFinalNorm),
                  .output_layer_gradients = {.weight_OI = values_of(gradients, head_name(model)),
                                             .bias_O = {}}};
  for (std::int64_t layer = 0; layer < model.num_hidden_layers; ++layer) {
    decoder.layers.emplace_back(model, parameters, gradients, layer);
  }
  return decoder;
}

// Forward and backward of one micro-batch. Adds to the gradients, appends to the activations;
// returns its tokens' losses.
std::vector<double> run_micro_batch(const Decoder& decoder,
                                    const Batch& batch,
                                    std::int64_t first_token,
                                    BatchResult& result) {
  const Case& c = decoder.c;
  const std::span<const std::int64_t> tokens_T =
      std::span(batch.inputs_T)
          .subspan(static_cast<std::size_t>(first_token),
                   static_cast<std::size_t>(batch.tokens_a_micro_batch));
  Trace trace(c.recipe.seq);
  Matrix x_TH = embed(tokens_T, decoder.embedding_VH, c.model.hidden_size);
  trace.record("embedding", x_TH);
  std::vector<LayerSaved> saved;
  for (const Layer& layer : decoder.layers) {
    saved.push_back(layer.forward(x_TH, decoder.setting, trace));
  }
  const NormResult last = norm(x_TH, decoder.final_norm);
  trace.record("decoder.final_layernorm", last.y_TH);
  const Matrix logits_TV = linear(last.y_TH, decoder.output_layer);
  trace.record("output_layer", logits_TV);
  result.activations.push_back(trace.take());

  CrossEntropy loss = cross_entropy(logits_TV, batch, first_token, c.recipe.label_smoothing);
  const Matrix dy_TH = linear_backward(
      loss.dlogits_TV, last.y_TH, decoder.output_layer, decoder.output_layer_gradients);
  Matrix dx_TH = norm_backward(dy_TH, last, decoder.final_norm, decoder.final_norm_gradients);
  for (std::size_t i = decoder.layers.size(); i-- > 0;) {
    decoder.layers[i].backward(dx_TH, decoder.setting, saved[i]);
  }
  add_embedding_gradient(dx_TH, tokens_T, decoder.embedding_gradient_VH);
  return std::move(loss.losses_T);
}

void check_batch(const Case& c, const Batch& batch) {
  const std::int64_t tokens = c.recipe.micro_batch * c.recipe.seq;
  LOCKSTEP_CHECK(
      batch.tokens_a_micro_batch == tokens &&
          batch.inputs_T.size() == batch.targets_G.size() * static_cast<std::size_t>(tokens),
      "a batch of the reference does not hold the case's micro-batches");
}

}  // namespace

BatchResult run_batch(const Case& c, const Batch& batch, const Tensors& parameters) {
  check_batch(c, batch);
  BatchResult result;
  result.gradients = zeros_like(parameters);
  const Decoder decoder = make_decoder(c, parameters, result.gradients);
  std::int64_t first_token = 0;
  for (const std::int64_t targets : batch.targets_G) {
    double loss_sum = 0.0;
    auto t = static_cast<std::size_t>(first_token);
    for (const double loss : run_micro_batch(decoder, batch, first_token, result)) {
      loss_sum += loss;
      result.objective += batch.weight_T[t++] * loss;
    }
    result.micro_batch_losses.push_back(loss_sum /
                                        static_cast<double>(std::max<std::int64_t>(targets, 1)));
    first_token += batch.tokens_a_micro_batch;
  }
  return result;
}

}  // namespace lockstep::matrix
