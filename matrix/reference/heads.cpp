// Copies heads out of tokens and back.
#include "matrix/reference/heads.h"

#include <algorithm>

#include "core/base/errors.h"

namespace lockstep::matrix {
namespace {

// One head of one sample on both sides.
struct HeadPlace {
  Matrix Heads::*part;
  std::int64_t first_row;     // among the heads
  std::int64_t first_token;   // among the tokens
  std::int64_t first_column;  // of linear_qkv
};

// Calls visit(place) for every head of every sample.
template <typename Visit>
void for_each_head(std::int64_t num_samples, const HeadSizes& sizes, const Visit& visit) {
  const std::int64_t queries_a_group = sizes.query_heads / sizes.groups;
  for (std::int64_t sample = 0; sample < num_samples; ++sample) {
    for (std::int64_t group = 0; group < sizes.groups; ++group) {
      const std::int64_t first_head = group * (queries_a_group + 2);
      const auto place = [&](Matrix Heads::*part, std::int64_t head, std::int64_t within) {
        visit(HeadPlace{.part = part,
                        .first_row = head * sizes.seq,
                        .first_token = sample * sizes.seq,
                        .first_column = (first_head + within) * sizes.head_dim});
      };
      for (std::int64_t q = 0; q < queries_a_group; ++q) {
        place(&Heads::q, sample * sizes.query_heads + group * queries_a_group + q, q);
      }
      place(&Heads::k, sample * sizes.groups + group, queries_a_group);
      place(&Heads::v, sample * sizes.groups + group, queries_a_group + 1);
    }
  }
}

std::int64_t qkv_columns(const HeadSizes& sizes) {
  return (sizes.query_heads + 2 * sizes.groups) * sizes.head_dim;
}

}  // namespace

Heads split_heads(const Matrix& qkv, const HeadSizes& sizes) {
  LOCKSTEP_CHECK(qkv.columns == qkv_columns(sizes), "linear_qkv does not hold whole heads");
  LOCKSTEP_CHECK(sizes.query_heads % sizes.groups == 0,
                 "key and value heads do not share the query heads equally");
  Heads heads{.q = Matrix(qkv.rows * sizes.query_heads, sizes.head_dim),
              .k = Matrix(qkv.rows * sizes.groups, sizes.head_dim),
              .v = Matrix(qkv.rows * sizes.groups, sizes.head_dim)};
  for_each_head(qkv.rows / sizes.seq, sizes, [&](const HeadPlace& place) {
    for (std::int64_t s = 0; s < sizes.seq; ++s) {
      const double* source = qkv.row(place.first_token + s) + place.first_column;
      std::copy(source, source + sizes.head_dim, (heads.*place.part).row(place.first_row + s));
    }
  });
  return heads;
}

Matrix merge_heads(const Heads& heads, const HeadSizes& sizes) {
  Matrix qkv(heads.k.rows / sizes.groups, qkv_columns(sizes));
  for_each_head(qkv.rows / sizes.seq, sizes, [&](const HeadPlace& place) {
    for (std::int64_t s = 0; s < sizes.seq; ++s) {
      const double* source = (heads.*place.part).row(place.first_row + s);
      std::copy(
          source, source + sizes.head_dim, qkv.row(place.first_token + s) + place.first_column);
    }
  });
  return qkv;
}

}  // namespace lockstep::matrix
