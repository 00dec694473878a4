// Lays out a sweep's outcome in four parts: counts, checks, why cases did not run, failures.
#include "matrix/sweep/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lockstep::matrix {
namespace {

// Together they keep a report near forty lines, so that a screen holds what matters.
constexpr std::size_t kMaxReasons = 5;
constexpr std::size_t kMaxConditions = 5;
constexpr std::size_t kMaxReasonLines = 20;

std::string error_text(const sim::Place& place) {
  if (!std::isfinite(place.error)) return "not finite";
  return place.error == 0.0 ? "0" : fmt::format("{:.3g}", place.error);
}

std::string bound_text(const sim::Place& place) {
  return place.bound == 0.0 ? "exact" : fmt::format("{:.3g}", place.bound);
}

Tone tone_of(Verdict verdict, std::int64_t count) {
  if (count == 0) return Tone::kQuiet;
  switch (verdict) {
    case Verdict::kPass:
      return Tone::kGood;
    case Verdict::kFail:
    case Verdict::kError:
    case Verdict::kTimeout:
      return Tone::kBad;
    case Verdict::kInvalid:
    case Verdict::kSkipped:
      return Tone::kPlain;
  }
  return Tone::kPlain;
}

std::string head(const SweepOutcome& outcome, const Paint& paint) {
  const SweepSummary& summary = outcome.summary;
  std::string text = paint(Tone::kStrong, summary.name) + ": " +
                     plural(summary.total(), "case", "cases") +
                     fmt::format(" in {:.1f} s", summary.seconds);
  if (outcome.num_workers > 0) {
    text +=
        fmt::format(", {} cases/s on {}",
                    with_commas(std::llround(summary.cases_per_second)),
                    plural(static_cast<std::int64_t>(outcome.num_workers), "worker", "workers"));
  }
  if (outcome.num_kept > 0) {
    text += fmt::format(", {} kept from before",
                        with_commas(static_cast<std::int64_t>(outcome.num_kept)));
  }
  return text + (outcome.interrupted ? paint(Tone::kBad, ", interrupted") : "") + "\n\n";
}

std::string counts_table(const SweepSummary& summary, const Paint& paint) {
  std::string names = " ";
  std::string numbers = " ";
  for (const Verdict verdict : kAllVerdicts) {
    const std::string number = with_commas(summary.count(verdict));
    const std::size_t width = std::max<std::size_t>(9, number.size() + 2);
    names += fmt::format("{:>{}}", name_of(verdict), width);
    numbers +=
        paint(tone_of(verdict, summary.count(verdict)), fmt::format("{:>{}}", number, width));
  }
  return names + "\n" + numbers + "\n\n";
}

// One figure says how far away a bound is; two where it is near.
std::string share_text(double share) {
  if (share == 0.0) return "0";
  return share < 0.01 || share >= 100.0 ? fmt::format("{:.0e}", share)
                                        : fmt::format("{:.2g}", share);
}

// Nothing where the check is exact.
std::string headroom_columns(const Headroom& headroom) {
  if (headroom.is_exact()) return "";
  std::string columns;
  for (const double share : {0.5, 0.9, 0.99, 1.0}) {
    columns += fmt::format("{:>6}", share_text(headroom.quantile(share)));
  }
  return columns;
}

std::string check_row(const CheckTally& check, const Paint& paint) {
  const std::string failed = fmt::format("{:>8}", with_commas(check.num_failed));
  std::string row = fmt::format("  {:<12}{:>9}{}{:>8}{:>14}",
                                check.check,
                                with_commas(check.num_passed),
                                paint(tone_of(Verdict::kFail, check.num_failed), failed),
                                with_commas(check.num_not_applicable),
                                with_commas(check.num_compared));
  if (check.num_compared == 0) return row + "\n";
  row += fmt::format("{:>12}{:>9}{}\n",
                     error_text(check.worst),
                     bound_text(check.worst),
                     paint(Tone::kQuiet, headroom_columns(check.headroom)));
  // Where all is equal to the bit, no place is worse than another.
  if (check.worst.error == 0.0) return row;
  return row +
         paint(Tone::kQuiet,
               fmt::format("      {} in {}", check.worst.where, check.worst_case.name)) +
         "\n";
}

std::string checks_table(const Tally& tally, const Paint& paint) {
  if (tally.checks().empty()) return "";
  std::string text = paint(Tone::kQuiet,
                           fmt::format("{:>98}\n  {:<12}{:>9}{:>8}{:>8}{:>14}{:>12}{:>9}"
                                       "{:>6}{:>6}{:>6}{:>6}",
                                       "of cases, error / bound:",
                                       "check",
                                       "passed",
                                       "failed",
                                       "n/a",
                                       "compared",
                                       "worst error",
                                       "bound",
                                       "50 %",
                                       "90 %",
                                       "99 %",
                                       "all")) +
                     "\n";
  for (const CheckTally& check : tally.checks()) text += check_row(check, paint);
  return text + "\n";
}

std::string condition_line(const ConditionTally& condition) {
  const Signature& signature = condition.signature;
  if (signature.check.empty()) {
    const std::string reason = signature.reason.empty() ? "no reason given" : signature.reason;
    return fmt::format("{}: {}", name_of(signature.verdict), reason);
  }
  std::string line = signature.check;
  if (!signature.where.empty()) line += " at " + signature.where;
  if (condition.num_places_max > 1) {
    const bool is_cut = condition.num_places_max == sim::kMaxPlaces;
    line += fmt::format(
        " and {}{} more", is_cut ? "at least " : "up to ", condition.num_places_max - 1);
  }
  if (!signature.hint.empty()) line += ", " + signature.hint;
  if (!signature.reason.empty()) line += ": " + signature.reason;
  return line;
}

// As many names as fit on a line, at least one.
std::string names_line(const ConditionTally& condition, std::size_t width) {
  std::string names = condition.first_cases.front().name;
  std::int64_t num_named = 1;
  for (std::size_t i = 1; i < condition.first_cases.size(); ++i) {
    const std::string& name = condition.first_cases[i].name;
    if (names.size() + name.size() + 20 > width) break;
    names += ", " + name;
    ++num_named;
  }
  const std::int64_t num_more = condition.num_cases - num_named;
  return num_more > 0 ? names + fmt::format(" and {} more", with_commas(num_more)) : names;
}

std::string condition_block(const ConditionTally& condition, const Paint& paint) {
  const std::string count = fmt::format("{:>7}", with_commas(condition.num_cases));
  return fmt::format("  {}  {}\n",
                     paint(Tone::kBad, count),
                     clipped(condition_line(condition), 3 * kReportWidth)) +
         paint(Tone::kQuiet, "           " + names_line(condition, kReportWidth - 11)) + "\n";
}

// A reason of several lines, such as a deadlock's report, keeps its lines.
std::string indented(const std::string& text, std::size_t max_lines) {
  std::string block;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < max_lines && begin < text.size(); ++i) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    block += "           " + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return begin < text.size() ? block + "           ...\n" : block;
}

// What a line holds besides: the hint, and the other checks that failed.
std::string more_text(const CaseResult& result, const FirstCause& cause) {
  std::string text = cause.place == nullptr ? "" : cause.place->hint;
  std::string others;
  for (const sim::CheckResult& check : result.checks) {
    if (check.verdict == sim::CheckVerdict::kFail && &check != cause.check) {
      others += (others.empty() ? "also " : ", ") + check.check;
    }
  }
  return text + (text.empty() || others.empty() ? "" : "; ") + others;
}

// The check's other places, as many as fit on a line and at least one.
std::string other_places(const FirstCause& cause) {
  std::string text;
  std::size_t num_left = cause.check->failures.size() - 1;
  for (const sim::Place& place : cause.check->failures) {
    if (&place == cause.place) continue;
    const bool fits = text.size() + place.where.size() + 2 + 20 <= kReportWidth - 11;
    if (!text.empty() && !fits) break;
    text += (text.empty() ? "and at " : ", ") + place.where;
    --num_left;
  }
  return num_left > 0 && !text.empty() ? text + fmt::format(" and {} more", num_left) : text;
}

std::string place_lines(const CaseResult& result) {
  const std::string margin(11, ' ');
  const FirstCause cause = first_cause(result);
  if (cause.check == nullptr) return "";
  std::string line = margin + cause.check->check;
  if (cause.place != nullptr) {
    line += fmt::format(" at {}: error {}, bound {}{}",
                        cause.place->where,
                        error_text(*cause.place),
                        bound_text(*cause.place),
                        ranks_text(cause.place->ranks));
  }
  const std::string places = cause.place == nullptr ? "" : other_places(cause);
  if (!places.empty()) line += "\n" + margin + places;
  const std::string more = more_text(result, cause);
  return line + "\n" + (more.empty() ? "" : margin + more + "\n");
}

std::string case_block(const FailingCase& failing, std::size_t max_lines, const Paint& paint) {
  const CaseResult& result = failing.result;
  const FirstCause cause = first_cause(result);
  const std::string text = fmt::format(
      "  {}  {}{}\n",
      paint(Tone::kBad, fmt::format("{:>7}", name_of(result.verdict))),
      result.name,
      failing.num_alike == 0 ? "" : ", and " + with_commas(failing.num_alike) + " more alike");
  // Of a trial that did not finish the reason is all there is: a check only repeats its headline.
  if (cause.check == nullptr || result.verdict == Verdict::kError) {
    return text + indented(result.reason, max_lines);
  }
  return text + place_lines(result) + indented(cause.check->reason, max_lines) +
         indented(result.reason, max_lines);
}

std::string conditions_table(const Tally& tally, const Paint& paint) {
  const std::vector<ConditionTally> conditions = tally.conditions();
  std::string text = paint(Tone::kStrong, "failures") + ", by what they have in common:\n";
  for (std::size_t i = 0; i < std::min(conditions.size(), kMaxConditions); ++i) {
    text += condition_block(conditions[i], paint);
  }
  if (conditions.size() <= kMaxConditions) return text;
  return text + fmt::format("           and {} more kinds\n", conditions.size() - kMaxConditions);
}

std::string failures(const SweepOutcome& outcome, const Paint& paint) {
  if (outcome.tally.num_bad() == 0) return "";
  const std::vector<FailingCase> failing = outcome.tally.failing();
  std::string text = conditions_table(outcome.tally, paint) + "\n" + paint(Tone::kStrong, "cases") +
                     ", the first of each kind:\n";
  for (std::size_t i = 0; i < failing.size(); ++i) {
    // A long report, such as a deadlock's, is told in full for the first case.
    text += case_block(failing[i], i == 0 ? kMaxReasonLines : 1, paint);
  }
  if (outcome.tally.num_signatures() > failing.size()) {
    text += fmt::format("           and {} more kinds; every case is in the results\n",
                        outcome.tally.num_signatures() - failing.size());
  }
  return text + "\n";
}

std::string reasons_text(const Tally& tally, Verdict verdict, const Paint& paint) {
  const auto reasons = tally.reasons(verdict);
  if (reasons.empty()) return "";
  std::string text = paint(Tone::kStrong, std::string(name_of(verdict))) + ", by reason:\n";
  for (std::size_t i = 0; i < std::min(reasons.size(), kMaxReasons); ++i) {
    text += fmt::format("  {:>7}  {}\n",
                        with_commas(reasons[i].second),
                        clipped(reasons[i].first, kReportWidth - 11));
  }
  if (reasons.size() > kMaxReasons) {
    text += fmt::format("           and {} more reasons\n", reasons.size() - kMaxReasons);
  }
  return text + "\n";
}

}  // namespace

std::string not_run_text(const Tally& tally, const Paint& paint) {
  return reasons_text(tally, Verdict::kInvalid, paint) +
         reasons_text(tally, Verdict::kSkipped, paint);
}

std::string report_text(const SweepOutcome& outcome, const ReportOptions& options) {
  const Paint paint(options.color);
  std::string text = head(outcome, paint) + counts_table(outcome.summary, paint) +
                     checks_table(outcome.tally, paint) + not_run_text(outcome.tally, paint) +
                     failures(outcome, paint);
  text += "results  " + options.results_path + "\n";
  if (!options.replay_command.empty()) text += "replay   " + options.replay_command + "\n";
  return text;
}

}  // namespace lockstep::matrix
