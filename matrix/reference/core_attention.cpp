// Attention and its backward, document by document, head by head.
//
// Legend: S the positions of a document, of queries and keys alike, D head_dim.
#include "matrix/reference/core_attention.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace lockstep::matrix {
namespace {

// Attention within it is causal attention of its own.
struct Document {
  std::int64_t sample;
  std::int64_t first;  // position in the sample
  std::int64_t length;
};

std::vector<Document> documents_of(const CoreAttentionSetting& setting) {
  std::vector<Document> documents;
  const std::int64_t seq = setting.sizes.seq;
  const auto num_tokens = static_cast<std::int64_t>(setting.places_T.size());
  for (std::int64_t t = 0; t < num_tokens; ++t) {
    const bool begins = t % seq == 0 || setting.places_T[static_cast<std::size_t>(t)] == 0;
    if (begins) documents.push_back({.sample = t / seq, .first = t % seq, .length = 0});
    ++documents.back().length;
  }
  return documents;
}

// A document in one head of all samples, of the queries or of the keys and values.
struct Block {
  Block(const Document& whole, std::int64_t seq, std::int64_t of_head)
      : document(whole), head(of_head), first_row(of_head * seq + whole.first) {}

  const Document& document;
  std::int64_t head;
  std::int64_t first_row;
};

MatrixView view_of(const Matrix& matrix, const Block& block) {
  return {.values = matrix.row(block.first_row),
          .rows = block.document.length,
          .columns = matrix.columns,
          .row_stride = matrix.columns};
}

ProductTarget target_of(Matrix& matrix, const Block& block) {
  return {.values = matrix.row(block.first_row), .row_stride = matrix.columns};
}

// The document's keys in row s of its queries.
double* row_of(Matrix& probabilities, const Block& block, std::int64_t s) {
  return probabilities.row(block.first_row + s) + block.document.first;
}

MatrixView square_of(const Matrix& probabilities, const Block& block) {
  return {.values = probabilities.row(block.first_row) + block.document.first,
          .rows = block.document.length,
          .columns = block.document.length,
          .row_stride = probabilities.columns};
}

// Where a query head's rows begin in a [T, Q D] matrix.
std::int64_t offset_in_tokens(const HeadSizes& sizes, const Block& block) {
  const std::int64_t token = block.document.sample * sizes.seq + block.document.first;
  const std::int64_t head = block.head % sizes.query_heads;
  return (token * sizes.query_heads + head) * sizes.head_dim;
}

double scale_of(const HeadSizes& sizes) {
  return 1.0 / std::sqrt(static_cast<double>(sizes.head_dim));
}

struct Seen {
  std::int64_t first;
  std::int64_t last;  // one past it
};

// By the query at place s of a document.
Seen seen_by(std::int64_t s, std::int64_t window) {
  const std::int64_t first = window > 0 ? std::max<std::int64_t>(0, s - window + 1) : 0;
  return {.first = first, .last = s + 1};
}

void clear_unseen(Seen seen, std::int64_t columns, double* row) {
  std::fill(row, row + seen.first, 0.0);
  std::fill(row + seen.last, row + columns, 0.0);
}

// p = softmax(scale * scores) over the keys seen, and over the sink's logit, where there is one;
// 0 in the rest of the row. Returns the sink's share.
double softmax_row(
    double scale, Seen seen, std::int64_t columns, std::optional<double> sink, double* row) {
  double largest = *std::max_element(row + seen.first, row + seen.last);
  if (sink.has_value()) largest = std::max(largest, *sink / scale);
  double sum = 0.0;
  for (std::int64_t u = seen.first; u < seen.last; ++u) {
    row[u] = std::exp(scale * (row[u] - largest));
    sum += row[u];
  }
  const double of_sink = sink.has_value() ? std::exp(*sink - scale * largest) : 0.0;
  sum += of_sink;
  for (std::int64_t u = seen.first; u < seen.last; ++u) row[u] /= sum;
  clear_unseen(seen, columns, row);
  return of_sink / sum;
}

// From dp to the gradient of q kᵀ: ds = scale p (dp - sum(p dp)), 0 where nothing is seen.
// Returns sum(p dp).
double softmax_row_backward(
    double scale, Seen seen, std::int64_t columns, const double* p, double* row) {
  double along = 0.0;
  for (std::int64_t u = seen.first; u < seen.last; ++u) along += p[u] * row[u];
  for (std::int64_t u = seen.first; u < seen.last; ++u) row[u] = scale * p[u] * (row[u] - along);
  clear_unseen(seen, columns, row);
  return along;
}

// Index ((token * query heads) + head) * seq + position of the key, the token among those of all
// steps.
void drop_row(const CoreAttentionSetting& setting,
              const Block& block,
              std::int64_t s,
              Seen seen,
              double* row) {
  const HeadSizes& sizes = setting.sizes;
  const Document& document = block.document;
  const std::int64_t token = setting.first_token + document.sample * sizes.seq + document.first + s;
  const std::int64_t first_index =
      (token * sizes.query_heads + block.head % sizes.query_heads) * sizes.seq + document.first;
  for (std::int64_t u = seen.first; u < seen.last; ++u) {
    row[u] *= setting.dropout.factor(first_index + u);
  }
}

// From scores to what the values are multiplied by.
void weigh_keys(const CoreAttentionSetting& setting, const Block& block, CoreAttention& attention) {
  const std::int64_t length = block.document.length;
  std::optional<double> sink;
  if (!setting.sink_Q.empty()) {
    sink = setting.sink_Q[static_cast<std::size_t>(block.head % setting.sizes.query_heads)];
  }
  for (std::int64_t s = 0; s < length; ++s) {
    double* p = row_of(attention.probabilities, block, s);
    const Seen seen = seen_by(s, setting.sliding_window);
    attention.sink_shares_R[static_cast<std::size_t>(block.first_row + s)] =
        softmax_row(scale_of(setting.sizes), seen, length, sink, p);
    if (!setting.dropout.drops()) continue;
    double* dropped = row_of(attention.dropped, block, s);
    std::copy(p, p + length, dropped);
    drop_row(setting, block, s, seen, dropped);
  }
}

// From the gradients of the weights of values to those of q kᵀ, and to the sink's: as
// dp[u] / dsink = -p[u] p[sink], dsink = -p[sink] sum(p dp).
void weigh_keys_backward(const CoreAttentionSetting& setting,
                         const Block& block,
                         const CoreAttention& attention,
                         Matrix& ds_SS,
                         std::span<double> dsink_Q) {
  const std::int64_t length = block.document.length;
  const MatrixView p_SS = square_of(attention.probabilities, block);
  for (std::int64_t s = 0; s < length; ++s) {
    const Seen seen = seen_by(s, setting.sliding_window);
    if (setting.dropout.drops()) drop_row(setting, block, s, seen, ds_SS.row(s));
    const double along = softmax_row_backward(
        scale_of(setting.sizes), seen, length, p_SS.values + s * p_SS.row_stride, ds_SS.row(s));
    if (dsink_Q.empty()) continue;
    dsink_Q[static_cast<std::size_t>(block.head % setting.sizes.query_heads)] -=
        attention.sink_shares_R[static_cast<std::size_t>(block.first_row + s)] * along;
  }
}

}  // namespace

CoreAttention core_attention(const Heads& heads, const CoreAttentionSetting& setting) {
  const HeadSizes& sizes = setting.sizes;
  const std::int64_t width = sizes.query_heads * sizes.head_dim;
  const std::int64_t queries_a_group = sizes.query_heads / sizes.groups;
  CoreAttention result{
      .out = Matrix(heads.q.rows / sizes.query_heads, width),
      .probabilities = Matrix(heads.q.rows, sizes.seq),
      .dropped = {},
      .sink_shares_R = std::vector<double>(static_cast<std::size_t>(heads.q.rows))};
  if (setting.dropout.drops()) result.dropped = Matrix(heads.q.rows, sizes.seq);
  for (const Document& document : documents_of(setting)) {
    const std::int64_t first_kv = document.sample * sizes.groups;
    for (std::int64_t kv = first_kv; kv < first_kv + sizes.groups; ++kv) {
      const Block keys(document, sizes.seq, kv);
      const Panels k_DS(transposed(view_of(heads.k, keys)));
      const Panels v_SD(view_of(heads.v, keys));
      for (std::int64_t q = kv * queries_a_group; q < (kv + 1) * queries_a_group; ++q) {
        const Block queries(document, sizes.seq, q);
        add_product(view_of(heads.q, queries),
                    k_DS,
                    {.values = row_of(result.probabilities, queries, 0), .row_stride = sizes.seq},
                    ProductPart::kResultBelow);
        weigh_keys(setting, queries, result);
        add_product(square_of(result.weights(), queries),
                    v_SD,
                    {.values = result.out.values.data() + offset_in_tokens(sizes, queries),
                     .row_stride = width},
                    ProductPart::kLeftBelow);
      }
    }
  }
  return result;
}

// With W = the weights of values and dW = dout vᵀ: dv += Wᵀ dout, dS = weigh_keys_backward(dW),
// dq = dS k,  dk += dSᵀ q. A key or value head adds up over its group's query heads.
Heads core_attention_backward(const Matrix& dout,
                              const CoreAttention& attention,
                              const Heads& heads,
                              const CoreAttentionSetting& setting,
                              std::span<double> dsink_Q) {
  const HeadSizes& sizes = setting.sizes;
  const std::int64_t queries_a_group = sizes.query_heads / sizes.groups;
  Heads gradients{.q = Matrix(heads.q.rows, heads.q.columns),
                  .k = Matrix(heads.k.rows, heads.k.columns),
                  .v = Matrix(heads.v.rows, heads.v.columns)};
  for (const Document& document : documents_of(setting)) {
    const std::int64_t first_kv = document.sample * sizes.groups;
    for (std::int64_t kv = first_kv; kv < first_kv + sizes.groups; ++kv) {
      const Block keys(document, sizes.seq, kv);
      const Panels v_DS(transposed(view_of(heads.v, keys)));
      const Panels k_SD(view_of(heads.k, keys));
      for (std::int64_t q = kv * queries_a_group; q < (kv + 1) * queries_a_group; ++q) {
        const Block queries(document, sizes.seq, q);
        const MatrixView dout_SD{.values = dout.values.data() + offset_in_tokens(sizes, queries),
                                 .rows = document.length,
                                 .columns = sizes.head_dim,
                                 .row_stride = dout.columns};
        add_product(transposed(square_of(attention.weights(), queries)),
                    Panels(dout_SD),
                    target_of(gradients.v, keys),
                    ProductPart::kLeftAbove);
        Matrix ds_SS(document.length, document.length);
        const ProductTarget ds_target{.values = ds_SS.values.data(), .row_stride = ds_SS.columns};
        add_product(dout_SD, v_DS, ds_target, ProductPart::kResultBelow);
        weigh_keys_backward(setting, queries, attention, ds_SS, dsink_Q);
        add_product(view(ds_SS), k_SD, target_of(gradients.q, queries), ProductPart::kLeftBelow);
        add_product(transposed(view(ds_SS)),
                    Panels(view_of(heads.q, queries)),
                    target_of(gradients.k, keys),
                    ProductPart::kLeftAbove);
      }
    }
  }
  return gradients;
}

}  // namespace lockstep::matrix
