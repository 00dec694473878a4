// Values by key, and who waits for those that nobody has set yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::backends {

// One request of one line.
struct StoreWaiter {
  std::uint64_t line = 0;
  std::uint64_t request = 0;
  bool operator==(const StoreWaiter&) const = default;
};

class Store {
 public:
  // Those that have waited for the key, in the order of their coming. A later value replaces the
  // earlier one.
  std::vector<StoreWaiter> set(const std::string& key, std::string value);
  // None: the waiter is told when the key is set.
  std::optional<std::string> get(const std::string& key, const StoreWaiter& waiter);
  void forget(std::uint64_t line);

 private:
  std::map<std::string, std::string> values_;
  std::map<std::string, std::vector<StoreWaiter>> waiters_;
};

}  // namespace lockstep::backends
