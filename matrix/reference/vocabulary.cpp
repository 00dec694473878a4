// Embedding and cross entropy, each with its backward.
#include "matrix/reference/vocabulary.h"

#include <algorithm>
#include <cmath>

namespace lockstep::matrix {

Matrix embed(std::span<const std::int64_t> tokens_T,
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
                            std::span<const std::int64_t> tokens_T,
                            std::span<double> gradient_VH) {
  for (std::int64_t t = 0; t < dx_TH.rows; ++t) {
    double* target = gradient_VH.data() + tokens_T[static_cast<std::size_t>(t)] * dx_TH.columns;
    for (std::int64_t j = 0; j < dx_TH.columns; ++j) target[j] += dx_TH.row(t)[j];
  }
}

// As p sums to 1 and log p[j] = z[j] - lse with lse = logsumexp(z):
// loss = lse - (1 - w) z[label] - (w / V) sum of z,  dz = weight (p - (1 - w) one_hot - w / V)
CrossEntropy cross_entropy(const Matrix& logits_TV,
                           const Batch& batch,
                           std::int64_t first_token,
                           double smoothing) {
  CrossEntropy result{.losses_T = std::vector<double>(static_cast<std::size_t>(logits_TV.rows)),
                      .dlogits_TV = Matrix(logits_TV.rows, logits_TV.columns)};
  const auto vocabulary = static_cast<double>(logits_TV.columns);
  const double spread = smoothing * vocabulary / (vocabulary - 1.0);
  for (std::int64_t t = 0; t < logits_TV.rows; ++t) {
    const auto i = static_cast<std::size_t>(first_token + t);
    if (!batch.is_target_T[i]) continue;
    const double* logits = logits_TV.row(t);
    double* slopes = result.dlogits_TV.row(t);
    const double largest = *std::max_element(logits, logits + logits_TV.columns);
    double sum = 0.0;
    double sum_below_largest = 0.0;  // of z - largest, so that a common offset costs no digits
    for (std::int64_t v = 0; v < logits_TV.columns; ++v) {
      slopes[v] = std::exp(logits[v] - largest);
      sum += slopes[v];
      sum_below_largest += logits[v] - largest;
    }
    const std::int64_t label = batch.labels_T[i];
    result.losses_T[static_cast<std::size_t>(t)] = std::log(sum) -
                                                   (1.0 - spread) * (logits[label] - largest) -
                                                   spread / vocabulary * sum_below_largest;
    const double weight = batch.weight_T[i];
    for (std::int64_t v = 0; v < logits_TV.columns; ++v) {
      slopes[v] = weight * (slopes[v] / sum - spread / vocabulary);
    }
    slopes[label] -= weight * (1.0 - spread);
  }
  return result;
}

}  // namespace lockstep::matrix
