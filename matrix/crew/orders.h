// What the process that leads tells the processes that a launcher started beside it, through the
// coordinator's store: one order after another for each of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep::matrix {

enum class OrderKind {
  kStart,    // start the process of this generation that serves your rank
  kEnd,      // kill it, and tell how it ended
  kGoodbye,  // nothing more will come
};

struct Order {
  OrderKind kind = OrderKind::kGoodbye;
  std::uint64_t generation = 0;
};

std::string to_text(const Order& order);
// UsageError for anything that to_text did not write.
Order order_from_text(std::string_view text);

// Keys of the store. Orders of a rank are numbered from 1.
std::string order_key(int rank, std::uint64_t number);
// Set by the follower: how the process of that generation ended.
std::string ended_key(int rank, std::uint64_t generation);

// As which seat the follower of a rank connects: ranks have the numbers from 0.
int follower_seat(int rank);

}  // namespace lockstep::matrix
