// Collects the activations of one micro-batch's forward pass in the order of their recording.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "matrix/reference/matrix.h"
#include "simulator/checks/oracle.h"

namespace lockstep::matrix {

class Trace {
 public:
  explicit Trace(std::int64_t seq) : seq_(seq) {}

  // Row t of `activation` is position t % seq of sample t / seq; it is kept as row
  // s * micro_batch + b, as training is sequence-major.
  void record(const std::string& name, const Matrix& activation);

  std::vector<sim::OracleTensor> take() { return std::move(activations_); }

 private:
  std::int64_t seq_;
  std::vector<sim::OracleTensor> activations_;
};

}  // namespace lockstep::matrix
