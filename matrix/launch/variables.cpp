// Reads and refuses single variables.
#include "matrix/launch/variables.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "core/base/errors.h"

namespace lockstep::matrix {
namespace {

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string> find_text(const Environment& environment, std::string_view name) {
  const auto entry = environment.find(name);
  if (entry == environment.end() || entry->second.empty()) return std::nullopt;
  return entry->second;
}

std::optional<std::int64_t> find_integer(const Environment& environment,
                                         std::string_view name,
                                         const Bounds& bounds) {
  const std::optional<std::string> text = find_text(environment, name);
  if (!text.has_value()) return std::nullopt;
  const std::optional<std::int64_t> value = parse_integer(*text);
  if (value.has_value() && *value >= bounds.least && *value <= bounds.most) return value;
  throw UsageError(fmt::format(
      "{} is '{}': expected an integer from {} to {}", name, *text, bounds.least, bounds.most));
}

std::int64_t need_integer(const Environment& environment,
                          std::string_view name,
                          const Bounds& bounds,
                          std::string_view beside) {
  const std::optional<std::int64_t> value = find_integer(environment, name, bounds);
  if (value.has_value()) return *value;
  throw UsageError(fmt::format("{} is '{}' and {} is not set: set both or neither",
                               beside,
                               find_text(environment, beside).value_or(""),
                               name));
}

}  // namespace lockstep::matrix
