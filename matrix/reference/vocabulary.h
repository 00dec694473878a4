// Where tokens meet the model: embedding rows in, cross entropy over the real vocabulary out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "matrix/reference/batch.h"
#include "matrix/reference/matrix.h"

namespace lockstep::matrix {

// x[t] = table[token t]
Matrix embed(const std::vector<std::int64_t>& tokens_T,
             std::span<const double> table_VH,
             std::int64_t hidden);

// gradient[token t] += dx[t]
void add_embedding_gradient(const Matrix& dx_TH,
                            const std::vector<std::int64_t>& tokens_T,
                            std::span<double> gradient_VH);

struct CrossEntropy {
  std::vector<double> losses_T;  // logsumexp(logits) - logit[label]; 0 off target
  Matrix dlogits_TV;             // weight (softmax - one_hot(label)); 0 off target
};

CrossEntropy cross_entropy(const Matrix& logits_TV, const Batch& batch);

}  // namespace lockstep::matrix
