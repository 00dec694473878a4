// Orders as two words.
#include "matrix/crew/orders.h"

#include <fmt/format.h>

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

}  // namespace

std::string to_text(const Order& order) {
  return fmt::format("{} {}", name_of(order.kind), order.generation);
}

Order order_from_text(std::string_view text) {
  const std::size_t space = text.find(' ');
  for (const OrderKind kind : {OrderKind::kStart, OrderKind::kEnd, OrderKind::kGoodbye}) {
    if (space == std::string_view::npos || text.substr(0, space) != name_of(kind)) continue;
    Order order{.kind = kind};
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data() + space + 1, last, order.generation);
    if (error == std::errc() && end == last) return order;
  }
  throw UsageError(fmt::format("not an order: '{}'", text));
}

std::string order_key(int rank, std::uint64_t number) {
  return fmt::format("order/{}/{}", rank, number);
}

std::string ended_key(int rank, std::uint64_t generation) {
  return fmt::format("ended/{}/{}", rank, generation);
}

int follower_seat(int rank) { return -rank; }

}  // namespace lockstep::matrix
