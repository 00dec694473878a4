// The middle of what was timed.
#pragma once

#include <algorithm>
#include <vector>

namespace lockstep::test {

using Seconds = std::vector<double>;

// Of one value at least; of an even number, the higher of the two in the middle.
inline double median(Seconds values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace lockstep::test
