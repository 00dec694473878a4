// x0 = E[token]; every layer adds its MLP; logits = rms_norm(x) woutᵀ.
#include "matrix/reference/decoder.h"

#include <algorithm>

#include "matrix/reference/batch.h"
#include "matrix/reference/vocabulary.h"

namespace lockstep::matrix {
namespace {

void add_losses(const Batch& batch, const std::vector<double>& losses_T, BatchResult& result) {
  result.targets = batch.targets_G;
  result.micro_batch_losses.assign(batch.targets_G.size(), 0.0);
  for (std::size_t t = 0; t < losses_T.size(); ++t) {
    const std::size_t g = t / static_cast<std::size_t>(batch.tokens_a_micro_batch);
    result.micro_batch_losses[g] += losses_T[t];
    result.objective += batch.weight_T[t] * losses_T[t];
  }
  for (std::size_t g = 0; g < batch.targets_G.size(); ++g) {
    result.micro_batch_losses[g] /=
        static_cast<double>(std::max<std::int64_t>(batch.targets_G[g], 1));
  }
}

}  // namespace

BatchResult run_batch(const Case& c, std::int64_t step, const Tensors& parameters) {
  const std::int64_t num_layers = c.model.num_hidden_layers;
  const double eps = c.model.norm_eps;
  const std::vector<double>& final_norm_H = parameters[final_norm_of(parameters)].values;
  const std::vector<double>& output_VH = parameters[output_of(parameters)].values;
  const Batch batch = make_batch(c, step);
  BatchResult result;
  result.gradients = zeros_like(parameters);
  Tensors& gradients = result.gradients;

  Matrix x_TH = embed(batch.inputs_T, parameters[kEmbedding].values, c.model.hidden_size);
  std::vector<MlpSaved> saved;
  for (std::int64_t layer = 0; layer < num_layers; ++layer) {
    saved.push_back(mlp(x_TH, mlp_weights(parameters, layer), eps));
  }
  const RmsNormResult last = rms_norm(x_TH, final_norm_H, eps);
  const CrossEntropy loss = cross_entropy(linear(last.y_TH, output_VH, c.model.vocab_size), batch);
  add_losses(batch, loss.losses_T, result);

  add_linear_weight_gradient(loss.dlogits_TV, last.y_TH, gradients[output_of(gradients)].values);
  Matrix dx_TH =
      rms_norm_backward(linear_input_gradient(loss.dlogits_TV, output_VH, c.model.hidden_size),
                        x_TH,
                        final_norm_H,
                        last.inverse_rms_T,
                        gradients[final_norm_of(gradients)].values);
  for (std::int64_t layer = num_layers - 1; layer >= 0; --layer) {
    mlp_backward(dx_TH,
                 saved[static_cast<std::size_t>(layer)],
                 mlp_weights(parameters, layer),
                 mlp_gradients(gradients, layer));
  }
  add_embedding_gradient(dx_TH, batch.inputs_T, gradients[kEmbedding].values);
  return result;
}

}  // namespace lockstep::matrix
