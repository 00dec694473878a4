// x0 = D E[token]; every layer adds its attention and its MLP; logits = norm(x) woutᵀ.
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
constexpr const char* kEmbeddingSite = "embedding";
constexpr const char* kFinalNorm = "decoder.final_layernorm.";

const char* head_name(const Model& model) {
  return model.tied ? kEmbedding : "output_layer.weight";
}

// The weights laid out for a batch, and where gradients are added: a tied head adds to the
// embedding's.
struct Decoder {
  const Case& c;
  LayerSetting setting;
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
                  .setting = layer_setting(c),
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

// One micro-batch of a batch.
struct MicroBatch {
  std::int64_t first_token;  // in the batch
  std::span<const std::int64_t> inputs_T;
  std::span<const std::int64_t> places_T;
};

// What the backward reads again.
struct DecoderSaved {
  std::vector<LayerSaved> layers;
  NormResult last;
};

// Returns the logits.
Matrix forward(const Decoder& decoder,
               const MicroBatch& micro_batch,
               Pass& pass,
               DecoderSaved& saved) {
  Matrix x_TH = embed(micro_batch.inputs_T, decoder.embedding_VH, decoder.c.model.hidden_size);
  pass.drop(kEmbeddingSite, x_TH);
  pass.trace.record("embedding", x_TH);
  for (const Layer& layer : decoder.layers) saved.layers.push_back(layer.forward(x_TH, pass));
  saved.last = norm(x_TH, decoder.final_norm);
  pass.trace.record("decoder.final_layernorm", saved.last.y_TH);
  Matrix logits_TV = linear(saved.last.y_TH, decoder.output_layer);
  pass.trace.record("output_layer", logits_TV);
  return logits_TV;
}

// Adds to the gradients.
void backward(const Decoder& decoder,
              const MicroBatch& micro_batch,
              const Pass& pass,
              const DecoderSaved& saved,
              const Matrix& dlogits_TV) {
  const Matrix dy_TH = linear_backward(
      dlogits_TV, saved.last.y_TH, decoder.output_layer, decoder.output_layer_gradients);
  Matrix dx_TH = norm_backward(dy_TH, saved.last, decoder.final_norm, decoder.final_norm_gradients);
  for (std::size_t i = decoder.layers.size(); i-- > 0;) {
    decoder.layers[i].backward(dx_TH, pass, saved.layers[i]);
  }
  pass.drop(kEmbeddingSite, dx_TH);
  add_embedding_gradient(dx_TH, micro_batch.inputs_T, decoder.embedding_gradient_VH);
}

// Adds to the gradients, appends to the activations; returns its tokens' losses.
std::vector<double> run_micro_batch(const Decoder& decoder,
                                    const Batch& batch,
                                    const MicroBatch& micro_batch,
                                    BatchResult& result) {
  const Recipe& recipe = decoder.c.recipe;
  Pass pass{.setting = decoder.setting,
            .first_token = batch.first_token + micro_batch.first_token,
            .places_T = micro_batch.places_T,
            .trace = Trace(recipe.seq)};
  DecoderSaved saved;
  const Matrix logits_TV = forward(decoder, micro_batch, pass, saved);
  result.activations.push_back(pass.trace.take());
  CrossEntropy loss =
      cross_entropy(logits_TV, batch, micro_batch.first_token, recipe.label_smoothing);
  if (!recipe.forward_only) backward(decoder, micro_batch, pass, saved, loss.dlogits_TV);
  return std::move(loss.losses_T);
}

// A document a sample where the batch does not say otherwise.
std::vector<std::int64_t> places_of(const Batch& batch, std::int64_t seq) {
  if (!batch.places_T.empty()) return batch.places_T;
  std::vector<std::int64_t> places_T;
  for (std::size_t t = 0; t < batch.inputs_T.size(); ++t) {
    places_T.push_back(static_cast<std::int64_t>(t) % seq);
  }
  return places_T;
}

// A document's places count from 0 one by one, and every sample begins one.
bool are_places(std::span<const std::int64_t> places_T, std::int64_t seq) {
  for (std::size_t t = 0; t < places_T.size(); ++t) {
    if (places_T[t] == 0) continue;
    const bool begins_sample = static_cast<std::int64_t>(t) % seq == 0;
    if (begins_sample || places_T[t] != places_T[t - 1] + 1) return false;
  }
  return true;
}

void check_batch(const Case& c, const Batch& batch) {
  const std::int64_t tokens = c.recipe.micro_batch * c.recipe.seq;
  LOCKSTEP_CHECK(
      batch.tokens_a_micro_batch == tokens &&
          batch.inputs_T.size() == batch.targets_G.size() * static_cast<std::size_t>(tokens),
      "a batch of the reference does not hold the case's micro-batches");
  LOCKSTEP_CHECK(batch.places_T.empty() || batch.places_T.size() == batch.inputs_T.size(),
                 "a batch of the reference does not place all its tokens");
  LOCKSTEP_CHECK(are_places(batch.places_T, c.recipe.seq),
                 "documents of the reference's batch do not count their tokens from 0");
}

}  // namespace

BatchResult run_batch(const Case& c, const Batch& batch, const Tensors& parameters) {
  check_batch(c, batch);
  BatchResult result;
  if (!c.recipe.forward_only) result.gradients = zeros_like(parameters);
  const Decoder decoder = make_decoder(c, parameters, result.gradients);
  const std::vector<std::int64_t> places_T = places_of(batch, c.recipe.seq);
  std::int64_t first_token = 0;
  for (const std::int64_t targets : batch.targets_G) {
    double loss_sum = 0.0;
    auto t = static_cast<std::size_t>(first_token);
    const auto count = static_cast<std::size_t>(batch.tokens_a_micro_batch);
    const MicroBatch micro_batch{.first_token = first_token,
                                 .inputs_T = std::span(batch.inputs_T).subspan(t, count),
                                 .places_T = std::span(places_T).subspan(t, count)};
    for (const double loss : run_micro_batch(decoder, batch, micro_batch, result)) {
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
