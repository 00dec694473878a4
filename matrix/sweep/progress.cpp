// Draws at most a few times a second on a terminal, every few seconds elsewhere.
#include "matrix/sweep/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace lockstep::matrix {
namespace {

constexpr double kBarPeriod = 0.1;
constexpr double kFirstLine = 2.0;
constexpr double kLinePeriod = 5.0;
constexpr std::size_t kBarWidth = 30;

std::string bad_text(const ProgressState& state) {
  return state.num_bad == 0 ? "" : fmt::format("{} {}", state.num_bad, state.word_for_bad);
}

// A bar that wraps could not be wiped. What does not say how wide it is, is taken as wide enough.
std::size_t columns_of(std::FILE* stream) {
  constexpr std::size_t kWide = 1000;
  winsize size{};
  if (::ioctl(::fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kWide;
  return size.ws_col;
}

}  // namespace

std::string progress_bar(const ProgressState& state) {
  const std::size_t num_cases = state.num_cases == 0 ? 1 : state.num_cases;
  const std::size_t filled = kBarWidth * state.num_done / num_cases;
  std::string bar(filled, '=');
  if (filled < kBarWidth) bar += '>';
  bar.resize(kBarWidth, ' ');
  std::string text = fmt::format("[{}] {}/{} {:3}%  {:.0f} {}/s",
                                 bar,
                                 state.num_done,
                                 state.num_cases,
                                 100 * state.num_done / num_cases,
                                 state.cases_per_second,
                                 state.word_for_cases);
  if (state.cases_per_second > 0.0 && state.num_done < state.num_cases) {
    const double left =
        static_cast<double>(state.num_cases - state.num_done) / state.cases_per_second;
    if (left >= 1.0) text += fmt::format("  {:.0f} s left", left);
  }
  const std::string bad = bad_text(state);
  return bad.empty() ? text : text + "  " + bad;
}

std::string progress_line(const ProgressState& state) {
  std::string text = fmt::format("{0} of {1} {3}, {2:.0f} {3}/s",
                                 state.num_done,
                                 state.num_cases,
                                 state.cases_per_second,
                                 state.word_for_cases);
  const std::string bad = bad_text(state);
  return bad.empty() ? text : text + ", " + bad;
}

Progress::Style Progress::style_for(std::FILE* stream) {
  const char* terminal = std::getenv("TERM");
  const bool can_move = terminal != nullptr && std::string_view(terminal) != "dumb";
  return ::isatty(::fileno(stream)) != 0 && can_move ? Style::kBar : Style::kLines;
}

// A sweep goes on where nobody can be told how far it is.
void Progress::say(const std::string& text) const {
  std::fputs(text.c_str(), stream_);
  std::fflush(stream_);
}

void Progress::update(const ProgressState& state) {
  switch (style_) {
    case Style::kBar:
      if (state.seconds < next_seconds_) return;
      next_seconds_ = state.seconds + kBarPeriod;
      say("\r\x1b[K" + progress_bar(state).substr(0, columns_of(stream_) - 1));
      break;
    case Style::kLines:
      // A sweep of a second or two needs no lines between.
      if (state.seconds < (next_seconds_ == 0.0 ? kFirstLine : next_seconds_)) return;
      next_seconds_ = state.seconds + kLinePeriod;
      say(progress_line(state) + "\n");
      break;
    case Style::kSilent:
      return;
  }
}

void Progress::finish(const ProgressState& state) {
  switch (style_) {
    case Style::kBar:
      say("\r\x1b[K");
      break;
    case Style::kLines:
      say(progress_line(state) + "\n");
      break;
    case Style::kSilent:
      return;
  }
}

}  // namespace lockstep::matrix
