// Parts of a list of cases: --only, --shard and --limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matrix/spec/expand.h"

namespace lockstep::matrix {

struct Shard {
  std::int64_t index;  // from 1
  std::int64_t count;
};

// "2/5". UsageError where it is not I/N with 1 <= I <= N.
Shard parse_shard(std::string_view text);

// By the hash of the case's name, so that each case is in exactly one shard of any spec that has
// it.
bool is_in_shard(std::string_view name, const Shard& shard);

struct Selection {
  std::optional<std::string> only;  // an expression over the case's fields
  std::optional<Shard> shard;
  std::optional<std::int64_t> limit;  // the first so many of what the others leave
};

// Keeps the order. UsageError for a bad expression, with its column, or a limit below 1.
std::vector<NamedCase> select(std::vector<NamedCase> cases, const Selection& selection);

}  // namespace lockstep::matrix
