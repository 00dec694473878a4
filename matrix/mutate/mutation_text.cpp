// Lays out a mutation's outcome: clean cases, a row a defect, what was missed, alarms, the score.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "matrix/mutate/mutation_report.h"
#include "matrix/sweep/report_parts.h"

namespace lockstep::matrix {
namespace {

constexpr std::size_t kMaxListed = 5;
constexpr std::size_t kMaxChecksTold = 4;
// Numbers take the rest of a line; a longer id has a line of its own.
constexpr std::size_t kIdWidth = 33;

std::string of_all(std::int64_t count, std::int64_t all) {
  return with_commas(count) + "/" + with_commas(all);
}

std::string head(const Mutation& mutation, const Paint& paint) {
  std::string text =
      paint(Tone::kStrong, mutation.name) + ": " +
      fmt::format("{} x {}, {} in {:.1f} s",
                  plural(static_cast<std::int64_t>(mutation.rows.size()), "defect", "defects"),
                  plural(mutation.num_cases, "case", "cases"),
                  plural(mutation.num_runs, "run", "runs"),
                  mutation.seconds);
  if (mutation.num_workers > 0) {
    text +=
        fmt::format(", {:.0f} runs/s on {}",
                    mutation.runs_per_second,
                    plural(static_cast<std::int64_t>(mutation.num_workers), "worker", "workers"));
  }
  if (mutation.num_kept > 0) {
    text += fmt::format(", {} kept from before",
                        with_commas(static_cast<std::int64_t>(mutation.num_kept)));
  }
  return text + (mutation.interrupted ? paint(Tone::kBad, ", interrupted") : "") + "\n\n";
}

std::string clean_line(const Mutation& mutation, const Paint& paint) {
  const bool all = mutation.num_clean_passed == mutation.num_cases;
  return "clean  " + paint(all ? Tone::kGood : Tone::kBad, clean_text(mutation)) + "\n\n";
}

Tone tone_of(RowState state) {
  switch (state) {
    case RowState::kMissed:
    case RowState::kUnreached:
      return Tone::kBad;
    case RowState::kCaught:
      return Tone::kGood;
  }
  return Tone::kPlain;
}

std::string titles(const Paint& paint) {
  return paint(Tone::kQuiet,
               fmt::format("  {:<{}}{:>9}{:>13}{:>8}{:>11}{:>10}{:>7}{:>7}",
                           "defect",
                           kIdWidth,
                           "state",
                           "caught",
                           "missed",
                           "equivalent",
                           "unreached",
                           "inert",
                           "beyond")) +
         "\n";
}

std::string numbers(const DefectRow& row, const Paint& paint) {
  return paint(tone_of(row.state), fmt::format("{:>9}", name_of(row.state))) +
         fmt::format("{:>13}{:>8}{:>11}{:>10}{:>7}{:>7}\n",
                     of_all(row.num_visible_caught, row.num_visible),
                     with_commas(row.cases.missed),
                     with_commas(row.cases.equivalent),
                     with_commas(row.cases.unreached),
                     with_commas(row.cases.inert),
                     with_commas(row.num_beyond));
}

// "grads 12, params 12 and 3 more"
std::string first_checks(const DefectRow& row) {
  std::string text;
  const std::size_t num_told = std::min(row.checks.size(), kMaxChecksTold);
  for (std::size_t i = 0; i < num_told; ++i) {
    text += fmt::format(
        "{}{} {}", i == 0 ? "" : ", ", row.checks[i].first, with_commas(row.checks[i].second));
  }
  const std::size_t num_more = row.checks.size() - num_told;
  return num_more == 0 ? text : text + fmt::format(" and {} more", num_more);
}

// Whole, however long: a name that is cut can be neither found nor run.
std::string quiet_line(const std::string& text, const Paint& paint) {
  return paint(Tone::kQuiet, "      " + text) + "\n";
}

std::string clipped_line(const std::string& text, const Paint& paint) {
  return quiet_line(clipped(text, kReportWidth - 6), paint);
}

// By which checks, and where first in which case: on as few lines as hold them. The case is on the
// last one.
std::string catch_lines(const DefectRow& row, const Paint& paint) {
  if (!row.smallest) return "";
  RunRecord place = row.smallest->record;
  const std::string hint = std::exchange(place.hint, "");
  std::string text;
  std::string line = "by " + first_checks(row) + ";";
  for (const std::string& part :
       {cause_text(place) + (hint.empty() ? "" : ","), hint, "in " + row.smallest->case_name}) {
    if (part.empty()) continue;
    if (line.size() + 1 + part.size() <= kReportWidth - 6) {
      line += " " + part;
      continue;
    }
    text += clipped_line(line, paint);
    line = part;
  }
  return text + quiet_line(line, paint);
}

std::string row_block(const DefectRow& row, const Paint& paint) {
  std::string text = fmt::format("  {:<{}}", row.id, kIdWidth);
  if (row.id.size() > kIdWidth) text += fmt::format("\n  {:<{}}", "", kIdWidth);
  text += numbers(row, paint);
  if (row.num_not_judged > 0) {
    text += quiet_line("not judged in " + plural(row.num_not_judged, "case", "cases"), paint);
  }
  if (row.state != RowState::kCaught) text += quiet_line("visible when " + row.visible_when, paint);
  return text + catch_lines(row, paint);
}

std::string legend(const Paint& paint) {
  const char* const numbers =
      "  caught a/b: in a of the b cases where visible_when holds; beyond: caught where it does "
      "not";
  const char* const states =
      "  inert: no edit; unreached: same bits (as a state: shown by no case); equivalent: within "
      "bounds";
  return paint(Tone::kQuiet, numbers) + "\n" + paint(Tone::kQuiet, states) + "\n";
}

std::string listed(const std::string& title,
                   const std::vector<std::string>& lines,
                   const Paint& paint) {
  if (lines.empty()) return "";
  std::string text = paint(Tone::kBad, title) + "\n";
  for (std::size_t i = 0; i < std::min(lines.size(), kMaxListed); ++i) {
    text += "  " + lines[i] + "\n";
  }
  if (lines.size() > kMaxListed) {
    text += fmt::format("  and {} more; all are in mutation.json\n", lines.size() - kMaxListed);
  }
  return text + "\n";
}

}  // namespace

std::string checks_text(const DefectRow& row) {
  std::string text;
  for (const auto& [check, count] : row.checks) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", check, with_commas(count));
  }
  return text;
}

std::string clean_text(const Mutation& mutation) {
  std::string text = fmt::format(
      "{} of {} pass", with_commas(mutation.num_clean_passed), with_commas(mutation.num_cases));
  if (mutation.num_clean_skipped > 0) {
    text += fmt::format(", to {} none of the checks asked for applies",
                        with_commas(mutation.num_clean_skipped));
  }
  return text;
}

std::string score_text(const Mutation& mutation) {
  const Score score = score_of(mutation);
  return fmt::format("{} of {} caught; {} of {} in which they show",
                     with_commas(score.num_caught),
                     plural(score.num_defects, "defect", "defects"),
                     with_commas(score.num_caught_cases),
                     plural(score.num_visible_cases, "case", "cases"));
}

std::string mutation_text(const Mutation& mutation, const MutationReportOptions& options) {
  const Paint paint(options.color);
  std::string text = head(mutation, paint) + clean_line(mutation, paint) + titles(paint);
  for (const DefectRow& row : mutation.rows) text += row_block(row, paint);
  text += legend(paint);
  std::vector<std::string> missed;
  for (const MissedCase& one : mutation.missed)
    missed.push_back(one.defect + " in " + one.case_name);
  text += "\n" + listed("missed, where they are visible:", missed, paint) +
          listed("alarms:", mutation.alarms, paint) + options.invalid;
  text += "score    " + paint(Tone::kStrong, score_text(mutation)) + "\n";
  text += "results  " + options.results_path + "\n";
  if (!options.replay_command.empty()) text += "replay   " + options.replay_command + "\n";
  return text;
}

}  // namespace lockstep::matrix
