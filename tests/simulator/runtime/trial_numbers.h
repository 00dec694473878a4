// All numbers that the ranks of a trial tell, by name, and how far those of two trials are apart.
#pragma once

#include <string>
#include <vector>

#include "core/train/rank_result.h"

namespace lockstep::test {

struct NamedNumbers {
  std::string name;  // "rank 1, step 0, gradient of decoder...."
  std::vector<double> numbers;
};

// Losses, norms and all tensors of each step, in one order.
std::vector<NamedNumbers> numbers_of(const std::vector<RankResult>& ranks);
// Of the first step alone, losses and gradients: before rounding has been through an update.
std::vector<NamedNumbers> first_numbers_of(const std::vector<RankResult>& ranks);

struct Distance {
  double relative = 0.0;  // the largest difference within a tensor over its largest number
  std::string where;      // of that tensor
};
// Infinite where names, sizes, or where there is NaN differ.
Distance distance(const std::vector<NamedNumbers>& found, const std::vector<NamedNumbers>& wanted);

}  // namespace lockstep::test
