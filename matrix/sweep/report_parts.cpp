// Escapes of a terminal, and small pieces of text.
#include "matrix/sweep/report_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace lockstep::matrix {
namespace {

std::string_view code_of(Tone tone) {
  switch (tone) {
    case Tone::kPlain:
      return "";
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kBad:
      return "\x1b[31m";
    case Tone::kQuiet:
      return "\x1b[2m";
    case Tone::kStrong:
      return "\x1b[1m";
  }
  return "";
}

}  // namespace

std::string Paint::operator()(Tone tone, const std::string& text) const {
  return color_ && tone != Tone::kPlain ? fmt::format("{}{}\x1b[0m", code_of(tone), text) : text;
}

std::string with_commas(std::int64_t number) {
  const std::string digits = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > first && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string plural(std::int64_t count, const std::string& one, const std::string& many) {
  return with_commas(count) + " " + (count == 1 ? one : many);
}

std::string clipped(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

std::string ranks_text(const std::vector<Rank>& ranks) {
  if (ranks.empty()) return "";
  std::string text = ranks.size() == 1 ? ", rank" : ", ranks";
  for (std::size_t i = 0; i < std::min<std::size_t>(ranks.size(), 8); ++i) {
    text += fmt::format(" {}", ranks[i].value);
  }
  return ranks.size() > 8 ? text + " ..." : text;
}

}  // namespace lockstep::matrix
