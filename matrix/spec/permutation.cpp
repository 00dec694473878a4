// A four-round Feistel network over the next even power of two; results outside are sent through it
// again, which ends because it is a bijection.
#include "matrix/spec/permutation.h"

#include "core/base/random.h"

namespace lockstep::matrix {

Permutation::Permutation(std::uint64_t size, std::uint64_t seed) : size_(size), seed_(seed) {
  while (half_bits_ < 31 && (std::uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
}

std::uint64_t Permutation::at(std::uint64_t i) const {
  std::uint64_t value = scrambled(i);
  while (value >= size_) value = scrambled(value);
  return value;
}

std::uint64_t Permutation::scrambled(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (std::uint64_t round = 0; round < 4; ++round) {
    const std::uint64_t next = left ^ (random_bits(seed_, round, right) & mask);
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

}  // namespace lockstep::matrix
