// What the process that leads tells the processes that a launcher started beside it, through the
// coordinator's store: one order after another for each of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::matrix {

enum class OrderKind {
  kStart,    // start the process of this generation that serves the rank
  kEnd,      // kill it, and tell how it ended
  kGoodbye,  // nothing more will come
};

struct Order {
  OrderKind kind = OrderKind::kGoodbye;
  int rank = 0;  // of the trials; a follower may look after several
  std::uint64_t generation = 0;
};

std::string to_text(const Order& order);
// UsageError for anything that to_text did not write.
Order order_from_text(std::string_view text);

// Keys of the store. Orders of a process, as the launcher numbers them, are numbered from 1.
std::string order_key(int process, std::uint64_t number);
// Set by the follower: how the process of that rank and generation ended.
std::string ended_key(int rank, std::uint64_t generation);
// Set by the leader: what followers append to the command that starts a rank's process.
std::string followers_words_key();
// Words without spaces, and back.
std::string to_text(const std::vector<std::string>& words);
std::vector<std::string> words_from_text(std::string_view text);
// Set by the follower: it has come, and takes orders. What it says of itself is the value.
std::string arrived_key(int process);
// Set by the follower: it has heard the goodbye.
std::string parted_key(int process);

// As which seat a follower connects: ranks have the numbers from 0.
int follower_seat(int process);

}  // namespace lockstep::matrix
