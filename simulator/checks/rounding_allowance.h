// How far two right computations of one optimizer update may lie apart, element by element.
//
// u = half an epsilon of the state's type. Each constant and each operation rounds by at most u of
// what it gives. With a = b1 m, b = (1 - b1) g, c = b2 v, d = (1 - b2) g^2 and W = wd p:
//   m' = a + b          constants 1 and products 1 to each term, the sum 1:      3 u (|a| + |b|)
//   v' = c + d          2 to c, 3 to d, the sum 1:                               4 u (c + d)
//   D = m' / c1 / (sqrt(v' / c2) + eps), |D| <= T = (|a| + |b|) / c1 / (sqrt(v' / c2) + eps):
//     3 from m', 2 by c1, 5 from the denominator (4 from v' and 2 by c2, halved by the root; the
//     root 1, the sum 1), the quotient 1:                                        11 u T
//   p' = p - lr (D + W)  W 2, the sum 1, lr 2, the difference 1:      u (|p| + lr (15 T + 6 |W|))
//   sgd: p' = p - lr (g + W), likewise:                               u (|p| + lr (4 |g| + 6 |W|))
// In f64 the run and the check both round so; below it the check's own rounding is nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/case.h"

namespace lockstep::sim {

// What goes into the update of one tensor; the moments are empty for sgd.
struct UpdateInputs {
  std::vector<double> gradient = {};
  std::vector<double> master = {};
  std::vector<double> exp_avg = {};
  std::vector<double> exp_avg_sq = {};
  double weight_decay = 0.0;
  std::int64_t step = 1;  // of updates, from 1
};

// By element, in units of the values.
struct Allowance {
  std::vector<double> allowed;
  std::vector<double> ulp;  // of the largest term that goes into the element
};

Allowance allowance_of_master(const Recipe& recipe, const UpdateInputs& inputs);
Allowance allowance_of_exp_avg(const Recipe& recipe, const UpdateInputs& inputs);
Allowance allowance_of_exp_avg_sq(const Recipe& recipe, const UpdateInputs& inputs);

}  // namespace lockstep::sim
