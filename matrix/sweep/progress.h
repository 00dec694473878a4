// Tells on standard error how far a sweep is: a bar on a terminal, plain lines elsewhere.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

#include "matrix/sweep/tally.h"

namespace lockstep::matrix {

struct ProgressState {
  std::size_t num_done = 0;
  std::size_t num_cases = 0;
  std::int64_t num_bad = 0;
  std::string word_for_bad = "failed";
  std::string word_for_cases = "cases";
  double seconds = 0.0;
  double cases_per_second = 0.0;
};

// "[=======>            ]  123/480   26%   312 cases/s   1.1 s left   2 failed"
std::string progress_bar(const ProgressState& state);
// "123 of 480 cases, 312 cases/s, 2 failed"
std::string progress_line(const ProgressState& state);

class Progress {
 public:
  enum class Style { kBar, kLines, kSilent };
  // A bar where `stream` is a terminal that can move its cursor.
  static Style style_for(std::FILE* stream);

  Progress(std::FILE* stream, Style style) : stream_(stream), style_(style) {}

  void update(const ProgressState& state);
  // The last word: the bar is wiped, for the report says it all; elsewhere a closing line.
  void finish(const ProgressState& state);

 private:
  void say(const std::string& text) const;

  std::FILE* stream_;
  Style style_;
  double next_seconds_ = 0.0;
};

}  // namespace lockstep::matrix
