// Values by key, and who waits for them.
#include "backends/coordinator/store.h"

#include <utility>

namespace lockstep::backends {

std::vector<StoreWaiter> Store::set(const std::string& key, std::string value) {
  values_[key] = std::move(value);
  const auto found = waiters_.find(key);
  if (found == waiters_.end()) return {};
  std::vector<StoreWaiter> waiters = std::move(found->second);
  waiters_.erase(found);
  return waiters;
}

std::optional<std::string> Store::get(const std::string& key, const StoreWaiter& waiter) {
  const auto found = values_.find(key);
  if (found != values_.end()) return found->second;
  waiters_[key].push_back(waiter);
  return std::nullopt;
}

void Store::forget(std::uint64_t line) {
  for (auto& [key, waiters] : waiters_) {
    std::erase_if(waiters, [&](const StoreWaiter& waiter) { return waiter.line == line; });
  }
}

}  // namespace lockstep::backends
