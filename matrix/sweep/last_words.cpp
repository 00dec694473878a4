// Keeps a bounded tail of bytes and cuts it into lines when asked.
#include "matrix/sweep/last_words.h"

#include <algorithm>
#include <vector>

namespace lockstep::matrix {

void LastWords::add(std::string_view text) {
  tail_.append(text);
  if (tail_.size() > kMaxBytes) tail_.erase(0, tail_.size() - kMaxBytes);
}

std::string LastWords::text() const {
  std::vector<std::string_view> lines;
  std::string_view rest = tail_;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) lines.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const std::size_t first = lines.size() > kMaxLines ? lines.size() - kMaxLines : 0;
  std::string joined;
  for (std::size_t i = first; i < lines.size(); ++i) {
    if (!joined.empty()) joined += " | ";
    joined += lines[i];
  }
  return joined;
}

}  // namespace lockstep::matrix
