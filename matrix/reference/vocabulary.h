// Where tokens meet the model: embedding rows in, cross entropy over the real vocabulary out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "matrix/reference/batch.h"
#include "matrix/reference/matrix.h"

namespace lockstep::matrix {

// x[t] = table[token t]
Matrix embed(std::span<const std::int64_t> tokens_T,
             std::span<const double> table_VH,
             std::int64_t hidden);

// gradient[token t] += dx[t]
void add_embedding_gradient(const Matrix& dx_TH,
                            std::span<const std::int64_t> tokens_T,
                            std::span<double> gradient_VH);

struct CrossEntropy {
  std::vector<double> losses_T;  // not weighted; 0 off target
  Matrix dlogits_TV;             // of the weighted losses; 0 off target
};

// With w = smoothing V / (V - 1):
// loss = (1 - w) (-log p[label]) - (w / V) sum of log p, where p = softmax(logits).
// Of the batch's tokens from first_token on, one a row of the logits.
CrossEntropy cross_entropy(const Matrix& logits_TV,
                           const Batch& batch,
                           std::int64_t first_token,
                           double smoothing);

}  // namespace lockstep::matrix
