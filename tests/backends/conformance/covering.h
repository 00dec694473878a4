// Which combinations of factors are tried: all, or enough to see each pair of values together.
#pragma once

#include <vector>

namespace lockstep::test {

// One value of each factor, from 0.
using Combination = std::vector<int>;

std::vector<Combination> all_combinations(const std::vector<int>& num_values);

// Each pair of values of two factors is in one of them at least. Greedy: the combination that
// brings the most new pairs comes next, the first of equals.
std::vector<Combination> pairwise_combinations(const std::vector<int>& num_values);

}  // namespace lockstep::test
