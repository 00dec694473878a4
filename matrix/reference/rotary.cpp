// Tables of angles, and the turn of every pair.
#include "matrix/reference/rotary.h"

#include <cmath>

#include "core/base/errors.h"

namespace lockstep::matrix {

Rotary::Rotary(double theta, std::int64_t seq, std::int64_t head_dim) : seq_(seq) {
  if (head_dim % 2 != 0) throw UsageError("rope needs an even head_dim");
  for (std::int64_t s = 0; s < seq; ++s) {
    for (std::int64_t i = 0; i < head_dim / 2; ++i) {
      const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(head_dim);
      const double angle = static_cast<double>(s) * std::pow(theta, exponent);
      cosines_.push_back(std::cos(angle));
      sines_.push_back(std::sin(angle));
    }
  }
}

void Rotary::turn(Matrix& heads, std::span<const std::int64_t> places_T) const {
  turn_by(1.0, heads, places_T);
}

void Rotary::turn_back(Matrix& gradients, std::span<const std::int64_t> places_T) const {
  turn_by(-1.0, gradients, places_T);
}

void Rotary::turn_by(double direction,
                     Matrix& heads,
                     std::span<const std::int64_t> places_T) const {
  if (cosines_.empty()) return;
  const std::int64_t half = heads.columns / 2;
  const std::int64_t heads_a_token = heads.rows / static_cast<std::int64_t>(places_T.size());
  for (std::int64_t row = 0; row < heads.rows; ++row) {
    const std::int64_t sample = row / (seq_ * heads_a_token);
    const std::int64_t place = places_T[static_cast<std::size_t>(sample * seq_ + row % seq_)];
    const double* cosines = cosines_.data() + place * half;
    const double* sines = sines_.data() + place * half;
    double* x1 = heads.row(row);
    double* x2 = x1 + half;
    for (std::int64_t i = 0; i < half; ++i) {
      const double sine = direction * sines[i];
      const double first = x1[i] * cosines[i] - x2[i] * sine;
      x2[i] = x2[i] * cosines[i] + x1[i] * sine;
      x1[i] = first;
    }
  }
}

}  // namespace lockstep::matrix
