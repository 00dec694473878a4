// Filters over expanded cases.
#include "matrix/spec/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "core/base/digest.h"
#include "core/base/errors.h"
#include "core/config/expression.h"

namespace lockstep::matrix {
namespace {

bool parse_count(std::string_view text, std::int64_t& value) {
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  return error == std::errc() && end == last;
}

[[noreturn]] void refuse_only(const std::string& text, const ExpressionError& error) {
  throw UsageError(
      fmt::format("--only: column {}: {}, in '{}'", error.column(), error.what(), text));
}

void keep_only(std::vector<NamedCase>& cases, const std::string& text) {
  try {
    const Expression only = Expression::parse(text);
    std::erase_if(cases, [&only](const NamedCase& named) { return !only.holds(named.c); });
  } catch (const ExpressionError& error) {
    refuse_only(text, error);
  }
}

}  // namespace

Shard parse_shard(std::string_view text) {
  Shard shard{.index = 0, .count = 0};
  const std::size_t slash = text.find('/');
  const bool fits = slash != std::string_view::npos &&
                    parse_count(text.substr(0, slash), shard.index) &&
                    parse_count(text.substr(slash + 1), shard.count) && shard.index >= 1 &&
                    shard.index <= shard.count;
  if (fits) return shard;
  throw UsageError(
      fmt::format("--shard: expected I/N with I from 1 to N, as in 2/5, got '{}'", text));
}

bool is_in_shard(std::string_view name, const Shard& shard) {
  Digest digest;
  digest.add(name);
  const auto count = static_cast<std::uint64_t>(shard.count);
  return digest.value() % count == static_cast<std::uint64_t>(shard.index - 1);
}

std::vector<NamedCase> select(std::vector<NamedCase> cases, const Selection& selection) {
  if (selection.limit.has_value() && *selection.limit < 1) {
    throw UsageError(
        fmt::format("--limit: expected an integer of at least 1, got {}", *selection.limit));
  }
  if (selection.only.has_value()) keep_only(cases, *selection.only);
  if (selection.shard.has_value()) {
    std::erase_if(cases, [&selection](const NamedCase& named) {
      return !is_in_shard(named.name, *selection.shard);
    });
  }
  if (selection.limit.has_value() && static_cast<std::uint64_t>(*selection.limit) < cases.size()) {
    cases.resize(static_cast<std::size_t>(*selection.limit));
  }
  return cases;
}

}  // namespace lockstep::matrix
