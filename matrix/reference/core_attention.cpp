// Causal attention and its backward, head by head.
#include "matrix/reference/core_attention.h"

#include <algorithm>
#include <cmath>

namespace lockstep::matrix {
namespace {

// Head `index` (of all samples) of a matrix that holds seq rows a head.
MatrixView head_of(const Matrix& matrix, std::int64_t index, std::int64_t seq) {
  return {.values = matrix.row(index * seq),
          .rows = seq,
          .columns = matrix.columns,
          .row_stride = matrix.columns};
}

ProductTarget target_of(Matrix& matrix, std::int64_t index, std::int64_t seq) {
  return {.values = matrix.row(index * seq), .row_stride = matrix.columns};
}

// The columns of query head `index` (of all samples) in a [T, Q D] matrix.
std::int64_t offset_in_tokens(const HeadSizes& sizes, std::int64_t index) {
  const std::int64_t sample = index / sizes.query_heads;
  const std::int64_t head = index % sizes.query_heads;
  return (sample * sizes.seq * sizes.query_heads + head) * sizes.head_dim;
}

double scale_of(const HeadSizes& sizes) {
  return 1.0 / std::sqrt(static_cast<double>(sizes.head_dim));
}

// p = softmax(scale * scores) over the first `count` of a row, 0 in the rest.
void softmax_row(double scale, std::int64_t count, std::int64_t columns, double* row) {
  const double largest = *std::max_element(row, row + count);
  double sum = 0.0;
  for (std::int64_t u = 0; u < count; ++u) {
    row[u] = std::exp(scale * (row[u] - largest));
    sum += row[u];
  }
  for (std::int64_t u = 0; u < count; ++u) row[u] /= sum;
  std::fill(row + count, row + columns, 0.0);
}

// From dp to the gradient of q kᵀ: ds = scale p (dp - sum(p dp)), 0 where u > s.
void softmax_row_backward(
    double scale, std::int64_t count, std::int64_t columns, const double* p, double* row) {
  double along = 0.0;
  for (std::int64_t u = 0; u < count; ++u) along += p[u] * row[u];
  for (std::int64_t u = 0; u < count; ++u) row[u] = scale * p[u] * (row[u] - along);
  std::fill(row + count, row + columns, 0.0);
}

}  // namespace

CoreAttention core_attention(const Heads& heads, const HeadSizes& sizes) {
  const std::int64_t seq = sizes.seq;
  const std::int64_t width = sizes.query_heads * sizes.head_dim;
  const std::int64_t queries_a_group = sizes.query_heads / sizes.groups;
  CoreAttention result{.out = Matrix(heads.q.rows / sizes.query_heads, width),
                       .probabilities = Matrix(heads.q.rows, seq)};
  for (std::int64_t kv = 0; kv < heads.k.rows / seq; ++kv) {
    const Panels k_DS(transposed(head_of(heads.k, kv, seq)));
    const Panels v_SD(head_of(heads.v, kv, seq));
    for (std::int64_t q = kv * queries_a_group; q < (kv + 1) * queries_a_group; ++q) {
      add_product(head_of(heads.q, q, seq),
                  k_DS,
                  target_of(result.probabilities, q, seq),
                  ProductPart::kResultBelow);
      for (std::int64_t s = 0; s < seq; ++s) {
        softmax_row(scale_of(sizes), s + 1, seq, result.probabilities.row(q * seq + s));
      }
      add_product(
          head_of(result.probabilities, q, seq),
          v_SD,
          {.values = result.out.values.data() + offset_in_tokens(sizes, q), .row_stride = width},
          ProductPart::kLeftBelow);
    }
  }
  return result;
}

// With P = probabilities and dP = dout vᵀ:  dv += Pᵀ dout,  dS = softmax_row_backward(dP),
// dq = dS k,  dk += dSᵀ q. A key or value head adds up over its group's query heads.
Heads core_attention_backward(const Matrix& dout,
                              const CoreAttention& attention,
                              const Heads& heads,
                              const HeadSizes& sizes) {
  const std::int64_t seq = sizes.seq;
  const std::int64_t queries_a_group = sizes.query_heads / sizes.groups;
  Heads gradients{.q = Matrix(heads.q.rows, heads.q.columns),
                  .k = Matrix(heads.k.rows, heads.k.columns),
                  .v = Matrix(heads.v.rows, heads.v.columns)};
  for (std::int64_t kv = 0; kv < heads.k.rows / seq; ++kv) {
    const Panels v_DS(transposed(head_of(heads.v, kv, seq)));
    const Panels k_SD(head_of(heads.k, kv, seq));
    for (std::int64_t q = kv * queries_a_group; q < (kv + 1) * queries_a_group; ++q) {
      const MatrixView dout_SD{.values = dout.values.data() + offset_in_tokens(sizes, q),
                               .rows = seq,
                               .columns = sizes.head_dim,
                               .row_stride = dout.columns};
      const MatrixView p_SS = head_of(attention.probabilities, q, seq);
      add_product(transposed(p_SS),
                  Panels(dout_SD),
                  target_of(gradients.v, kv, seq),
                  ProductPart::kLeftAbove);
      Matrix ds_SS(seq, seq);
      add_product(dout_SD, v_DS, target_of(ds_SS, 0, seq), ProductPart::kResultBelow);
      for (std::int64_t s = 0; s < seq; ++s) {
        softmax_row_backward(
            scale_of(sizes), s + 1, seq, p_SS.values + s * p_SS.row_stride, ds_SS.row(s));
      }
      add_product(view(ds_SS), k_SD, target_of(gradients.q, q, seq), ProductPart::kLeftBelow);
      add_product(transposed(view(ds_SS)),
                  Panels(head_of(heads.q, q, seq)),
                  target_of(gradients.k, kv, seq),
                  ProductPart::kLeftAbove);
    }
  }
  return gradients;
}

}  // namespace lockstep::matrix
