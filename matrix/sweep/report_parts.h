// What reports for people share: colors, counts in words, lines that are cut to fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.h"

namespace lockstep::matrix {

inline constexpr std::size_t kReportWidth = 100;

enum class Tone { kPlain, kGood, kBad, kQuiet, kStrong };

class Paint {
 public:
  explicit Paint(bool color) : color_(color) {}

  std::string operator()(Tone tone, const std::string& text) const;

 private:
  bool color_;
};

// 1234567 -> "1,234,567".
std::string with_commas(std::int64_t number);

// "1 case", "1,234 cases".
std::string plural(std::int64_t count, const std::string& one, const std::string& many);

// At most `width` characters, with "..." where something is missing.
std::string clipped(const std::string& text, std::size_t width);

// ", ranks 0 1", the first eight; empty where there are none.
std::string ranks_text(const std::vector<Rank>& ranks);

}  // namespace lockstep::matrix
