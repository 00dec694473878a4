// A seeded order of 0 .. size-1 that is computed entry by entry, so that a sample of a huge product
// neither lists it nor draws twice.
#pragma once

#include <cstdint>

namespace lockstep::matrix {

class Permutation {
 public:
  // size from 1 to 2^62.
  Permutation(std::uint64_t size, std::uint64_t seed);

  // The entry at position i < size; distinct for distinct positions.
  std::uint64_t at(std::uint64_t i) const;

 private:
  std::uint64_t scrambled(std::uint64_t value) const;

  std::uint64_t size_;
  std::uint64_t seed_;
  unsigned half_bits_ = 1;
};

}  // namespace lockstep::matrix
