// Rotary position embedding: (x1, x2) -> (x1 cos - x2 sin, x2 cos + x1 sin), where x1 and x2 are
// the halves of a head and pair i at place s of a document turns by s theta^(-2i / head_dim).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "matrix/reference/matrix.h"

namespace lockstep::matrix {

class Rotary {
 public:
  // Turns nothing.
  Rotary() = default;
  // UsageError for an odd head_dim, which has no halves.
  Rotary(double theta, std::int64_t seq, std::int64_t head_dim);

  // Rows are the positions of a sample, again for each of its heads; places are those of each
  // sample's tokens in their documents.
  void turn(Matrix& heads, std::span<const std::int64_t> places_T) const;
  // The backward of turn: a turn by the opposite angle.
  void turn_back(Matrix& gradients, std::span<const std::int64_t> places_T) const;

 private:
  void turn_by(double direction, Matrix& heads, std::span<const std::int64_t> places_T) const;

  std::int64_t seq_ = 0;
  std::vector<double> cosines_;  // [seq, head_dim / 2]
  std::vector<double> sines_;
};

}  // namespace lockstep::matrix
