// Dropout: an element is lost with a probability, or multiplied by 1 / (1 - probability).
//
// Which are lost depends on the seed, the site's name and the element's index among the tokens of
// all steps. Forward and backward multiply by the same factors.
#pragma once

#include <cstdint>
#include <string_view>

#include "matrix/reference/matrix.h"

namespace lockstep::matrix {

struct DropoutSetting {
  double probability = 0.0;
  std::int64_t seed = 0;
};

class DropoutSite {
 public:
  DropoutSite(const DropoutSetting& setting, std::string_view site);

  bool drops() const { return probability_ > 0.0; }

  // 0, or 1 / (1 - probability).
  double factor(std::int64_t index) const;

  // x[t, j] *= factor((first_token + t) columns + j)
  void drop(std::int64_t first_token, Matrix& x) const;

 private:
  double probability_;
  std::uint64_t seed_;
  std::uint64_t stream_;
};

}  // namespace lockstep::matrix
