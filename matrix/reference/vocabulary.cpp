// Embedding and cross entropy, each with its backward.
#include "matrix/reference/vocabulary.h"

#include <algorithm>
#include <cmath>

namespace lockstep::matrix {

Matrix embed(const std::vector<std::int64_t>& tokens_T,
             std::span<const double> table_VH,
             std::int64_t hidden) {
  Matrix x_TH(static_cast<std::int64_t>(tokens_T.size()), hidden);
  for (std::int64_t t = 0; t < x_TH.rows; ++t) {
    const double* source = table_VH.data() + tokens_T[static_cast<std::size_t>(t)] * hidden;
    std::copy(source, source + hidden, x_TH.row(t));
  }
  return x_TH;
}

void add_embedding_gradient(const Matrix& dx_TH,
                            const std::vector<std::int64_t>& tokens_T,
                            std::span<double> gradient_VH) {
  for (std::int64_t t = 0; t < dx_TH.rows; ++t) {
    double* target = gradient_VH.data() + tokens_T[static_cast<std::size_t>(t)] * dx_TH.columns;
    for (std::int64_t j = 0; j < dx_TH.columns; ++j) target[j] += dx_TH.row(t)[j];
  }
}

CrossEntropy cross_entropy(const Matrix& logits_TV, const Batch& batch) {
  CrossEntropy result{.losses_T = std::vector<double>(static_cast<std::size_t>(logits_TV.rows)),
                      .dlogits_TV = Matrix(logits_TV.rows, logits_TV.columns)};
  for (std::int64_t t = 0; t < logits_TV.rows; ++t) {
    const auto i = static_cast<std::size_t>(t);
    if (!batch.is_target_T[i]) continue;
    const double* logits = logits_TV.row(t);
    double* slopes = result.dlogits_TV.row(t);
    const double largest = *std::max_element(logits, logits + logits_TV.columns);
    double sum = 0.0;
    for (std::int64_t v = 0; v < logits_TV.columns; ++v) {
      slopes[v] = std::exp(logits[v] - largest);
      sum += slopes[v];
    }
    const std::int64_t label = batch.labels_T[i];
    result.losses_T[i] = std::log(sum) + largest - logits[label];
    for (std::int64_t v = 0; v < logits_TV.columns; ++v) slopes[v] *= batch.weight_T[i] / sum;
    slopes[label] -= batch.weight_T[i];
  }
  return result;
}

}  // namespace lockstep::matrix
