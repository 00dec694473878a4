// Orders as a word and two numbers.
#include "matrix/crew/orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/base/errors.h"

namespace lockstep::matrix {
namespace {

std::string_view name_of(OrderKind kind) {
  switch (kind) {
    case OrderKind::kStart:
      return "start";
    case OrderKind::kEnd:
      return "end";
    case OrderKind::kGoodbye:
      return "goodbye";
  }
  return "";
}

bool take_word(std::string_view& rest, std::string_view word) {
  if (!rest.starts_with(word)) return false;
  rest.remove_prefix(word.size());
  return true;
}

// A space and a number.
template <typename Number>
bool take_number(std::string_view& rest, Number& number) {
  if (!take_word(rest, " ")) return false;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return error == std::errc();
}

}  // namespace

std::string to_text(const Order& order) {
  return fmt::format("{} {} {}", name_of(order.kind), order.rank, order.generation);
}

Order order_from_text(std::string_view text) {
  Order order;
  for (const OrderKind kind : {OrderKind::kStart, OrderKind::kEnd, OrderKind::kGoodbye}) {
    std::string_view rest = text;
    if (!take_word(rest, name_of(kind))) continue;
    order.kind = kind;
    if (take_number(rest, order.rank) && take_number(rest, order.generation) && rest.empty()) {
      return order;
    }
  }
  throw UsageError(fmt::format("not an order: '{}'", text));
}

std::string order_key(int process, std::uint64_t number) {
  return fmt::format("order/{}/{}", process, number);
}

std::string ended_key(int rank, std::uint64_t generation) {
  return fmt::format("ended/{}/{}", rank, generation);
}

std::string followers_words_key() { return "words"; }

std::string to_text(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::vector<std::string> words_from_text(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string arrived_key(int process) { return fmt::format("arrived/{}", process); }

std::string parted_key(int process) { return fmt::format("parted/{}", process); }

int follower_seat(int process) { return -process; }

}  // namespace lockstep::matrix
