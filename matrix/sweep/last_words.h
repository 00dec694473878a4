// The end of what a process printed, short enough for a reason.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::matrix {

class LastWords {
 public:
  void add(std::string_view text);
  void clear() { tail_.clear(); }

  // The last lines, joined with " | "; at most kMaxLines of them and kMaxBytes in all.
  std::string text() const;

  static constexpr std::size_t kMaxLines = 6;
  static constexpr std::size_t kMaxBytes = 2000;

 private:
  std::string tail_;
};

}  // namespace lockstep::matrix
