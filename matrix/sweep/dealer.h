// Deals cases to workers so that cases sharing a reference stay together as far as balance allows.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::matrix {

// A case to run: its index in the sweep and the key of the reference it needs.
struct DealtCase {
  std::size_t index;
  std::string reference_key;
};

class Dealer {
 public:
  Dealer(const std::vector<DealtCase>& cases, std::size_t num_workers);

  // The next case of a worker: of its own group; else of the first group that nobody holds; else
  // the later half of the largest group that is left. None: everything is dealt.
  std::optional<std::size_t> next(std::size_t worker);

 private:
  void refill(std::size_t worker);

  std::deque<std::deque<std::size_t>> unclaimed_;  // groups, in order of first appearance
  std::vector<std::deque<std::size_t>> held_;      // by worker
};

}  // namespace lockstep::matrix
