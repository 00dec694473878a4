// Draws each element's fate from the counter hash.
#include "matrix/reference/dropout.h"

#include "core/base/random.h"
#include "core/config/data.h"

namespace lockstep::matrix {

DropoutSite::DropoutSite(const DropoutSetting& setting, std::string_view site)
    : probability_(setting.probability),
      seed_(static_cast<std::uint64_t>(setting.seed)),
      stream_(dropout_stream(site)) {}

double DropoutSite::factor(std::int64_t index) const {
  const bool keeps = random_unit(seed_, stream_, static_cast<std::uint64_t>(index)) >= probability_;
  return keeps ? 1.0 / (1.0 - probability_) : 0.0;
}

void DropoutSite::drop(std::int64_t first_token, Matrix& x) const {
  if (!drops()) return;
  for (std::int64_t t = 0; t < x.rows; ++t) {
    for (std::int64_t j = 0; j < x.columns; ++j) {
      x.row(t)[j] *= factor((first_token + t) * x.columns + j);
    }
  }
}

}  // namespace lockstep::matrix
