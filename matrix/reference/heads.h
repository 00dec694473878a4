// Between the tokens of linear_qkv and the heads of attention.
//
// Legend: T tokens of all samples, B samples, S positions, D head_dim, Q query heads, G key and
// value heads, each of a group of Q / G query heads. linear_qkv's columns are, group by group,
// [query heads | key | value].
#pragma once

#include "matrix/reference/matrix.h"

namespace lockstep::matrix {

struct HeadSizes {
  std::int64_t seq = 0;
  std::int64_t query_heads = 0;
  std::int64_t groups = 0;
  std::int64_t head_dim = 0;
};

// Each head of each sample lies in one piece, a row for each position.
struct Heads {
  Matrix q;  // [B Q S, D]
  Matrix k;  // [B G S, D]
  Matrix v;  // [B G S, D]
};

Heads split_heads(const Matrix& qkv, const HeadSizes& sizes);

// The inverse, which for gradients is the backward.
Matrix merge_heads(const Heads& heads, const HeadSizes& sizes);

}  // namespace lockstep::matrix
