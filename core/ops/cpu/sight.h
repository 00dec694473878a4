// Which keys a query sees, and by which queries a key is seen: runs of neighbours, the same for all
// heads and samples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ops/attention_args.h"

namespace lockstep::cpu {

struct Run {
  std::int64_t first = 0;
  std::int64_t end = 0;  // one beyond
};

class Sight {
 public:
  static Sight of_queries(const AttentionTokens& tokens, std::int64_t window);
  static Sight of_keys(const AttentionTokens& tokens, std::int64_t window);

  std::span<const Run> operator[](std::int64_t token) const {
    const auto i = static_cast<std::size_t>(token);
    return std::span(runs_).subspan(starts_[i], starts_[i + 1] - starts_[i]);
  }

 private:
  template <typename Sees>
  Sight(std::int64_t num_tokens, std::int64_t num_others, const Sees& sees);

  std::vector<Run> runs_;
  std::vector<std::size_t> starts_;  // of each token's runs, and the end of all
};

}  // namespace lockstep::cpu
