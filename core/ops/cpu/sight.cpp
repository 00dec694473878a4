// Runs from tables of tokens.
#include "core/ops/cpu/sight.h"

#include "core/ops/cpu/element.h"

namespace lockstep::cpu {
namespace {

// A table of tokens, row by row.
struct Tokens {
  explicit Tokens(const Buffer& table)
      : count(table.count / 3),
        document(elements<const std::int64_t>(table)),
        place(document + count) {}

  std::int64_t count;
  const std::int64_t* document;
  const std::int64_t* place;
};

bool sees(const Tokens& queries,
          std::int64_t s,
          const Tokens& keys,
          std::int64_t u,
          std::int64_t window) {
  const std::int64_t distance = queries.place[s] - keys.place[u];
  return queries.document[s] == keys.document[u] && distance >= 0 &&
         (window == 0 || distance < window);
}

}  // namespace

template <typename Sees>
Sight::Sight(std::int64_t num_tokens, std::int64_t num_others, const Sees& sees) {
  for (std::int64_t token = 0; token < num_tokens; ++token) {
    starts_.push_back(runs_.size());
    for (std::int64_t other = 0; other < num_others; ++other) {
      if (!sees(token, other)) continue;
      if (runs_.size() > starts_.back() && runs_.back().end == other) {
        ++runs_.back().end;
      } else {
        runs_.push_back({.first = other, .end = other + 1});
      }
    }
  }
  starts_.push_back(runs_.size());
}

Sight Sight::of_queries(const AttentionTokens& tokens, std::int64_t window) {
  const Tokens queries(tokens.queries_3S);
  const Tokens keys(tokens.keys_3U);
  return Sight(queries.count, keys.count, [&](std::int64_t s, std::int64_t u) {
    return sees(queries, s, keys, u, window);
  });
}

Sight Sight::of_keys(const AttentionTokens& tokens, std::int64_t window) {
  const Tokens queries(tokens.queries_3S);
  const Tokens keys(tokens.keys_3U);
  return Sight(keys.count, queries.count, [&](std::int64_t u, std::int64_t s) {
    return sees(queries, s, keys, u, window);
  });
}

}  // namespace lockstep::cpu
