// Deals whole groups first and splits a group only when a worker would otherwise be idle.
#include "matrix/sweep/dealer.h"

#include <algorithm>
#include <map>

namespace lockstep::matrix {

Dealer::Dealer(const std::vector<DealtCase>& cases, std::size_t num_workers) : held_(num_workers) {
  std::map<std::string, std::size_t> group_of_key;
  for (const DealtCase& dealt : cases) {
    const auto [place, is_new] = group_of_key.try_emplace(dealt.reference_key, unclaimed_.size());
    if (is_new) unclaimed_.emplace_back();
    unclaimed_[place->second].push_back(dealt.index);
  }
}

void Dealer::refill(std::size_t worker) {
  std::deque<std::size_t>& own = held_[worker];
  if (!unclaimed_.empty()) {
    own = std::move(unclaimed_.front());
    unclaimed_.pop_front();
    return;
  }
  const auto largest = std::max_element(
      held_.begin(), held_.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  const auto num_taken = static_cast<std::ptrdiff_t>((largest->size() + 1) / 2);
  std::deque<std::size_t> taken(largest->end() - num_taken, largest->end());
  largest->erase(largest->end() - num_taken, largest->end());
  own = std::move(taken);
}

std::optional<std::size_t> Dealer::next(std::size_t worker) {
  if (held_[worker].empty()) refill(worker);
  if (held_[worker].empty()) return std::nullopt;
  const std::size_t index = held_[worker].front();
  held_[worker].pop_front();
  return index;
}

}  // namespace lockstep::matrix
