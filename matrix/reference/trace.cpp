// Turns sample-major rows into sequence-major ones.
#include "matrix/reference/trace.h"

namespace lockstep::matrix {

void Trace::record(const std::string& name, const Matrix& activation) {
  const std::int64_t num_samples = activation.rows / seq_;
  std::vector<double> values;
  values.reserve(activation.values.size());
  for (std::int64_t s = 0; s < seq_; ++s) {
    for (std::int64_t b = 0; b < num_samples; ++b) {
      const double* row = activation.row(b * seq_ + s);
      values.insert(values.end(), row, row + activation.columns);
    }
  }
  activations_.push_back(
      {.name = name, .shape = {activation.rows, activation.columns}, .values = std::move(values)});
}

}  // namespace lockstep::matrix
