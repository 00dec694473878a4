// Combinations in the order of counting, the last factor fastest.
#include "tests/backends/conformance/covering.h"

#include <cstddef>
#include <set>
#include <tuple>

namespace lockstep::test {
namespace {

// Values of two factors: the first factor and its value, the second and its.
using Pair = std::tuple<std::size_t, int, std::size_t, int>;

std::size_t num_new_pairs(const Combination& combination, const std::set<Pair>& seen) {
  std::size_t num_new = 0;
  for (std::size_t i = 0; i < combination.size(); ++i) {
    for (std::size_t j = i + 1; j < combination.size(); ++j) {
      if (!seen.contains({i, combination[i], j, combination[j]})) ++num_new;
    }
  }
  return num_new;
}

void see_pairs(const Combination& combination, std::set<Pair>& seen) {
  for (std::size_t i = 0; i < combination.size(); ++i) {
    for (std::size_t j = i + 1; j < combination.size(); ++j) {
      seen.insert({i, combination[i], j, combination[j]});
    }
  }
}

}  // namespace

std::vector<Combination> all_combinations(const std::vector<int>& num_values) {
  std::vector<Combination> combinations{{}};
  for (const int num : num_values) {
    std::vector<Combination> longer;
    for (const Combination& combination : combinations) {
      for (int value = 0; value < num; ++value) {
        longer.push_back(combination);
        longer.back().push_back(value);
      }
    }
    combinations = std::move(longer);
  }
  return combinations;
}

std::vector<Combination> pairwise_combinations(const std::vector<int>& num_values) {
  const std::vector<Combination> all = all_combinations(num_values);
  std::vector<Combination> chosen;
  std::set<Pair> seen;
  while (true) {
    const Combination* best = nullptr;
    std::size_t num_best = 0;
    for (const Combination& combination : all) {
      const std::size_t num = num_new_pairs(combination, seen);
      if (num <= num_best) continue;
      best = &combination;
      num_best = num;
    }
    if (best == nullptr) return chosen;
    see_pairs(*best, seen);
    chosen.push_back(*best);
  }
}

}  // namespace lockstep::test
