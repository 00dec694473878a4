// The outcome as Markdown.
#include <fmt/format.h>

#include <algorithm>

#include "matrix/mutate/mutation_report.h"
#include "matrix/sweep/report_parts.h"

namespace lockstep::matrix {
namespace {

constexpr std::size_t kMaxListed = 20;

// A bar would end the cell, and a line's end the row.
std::string cell(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '|') safe += '\\';
    safe += letter == '\n' ? ' ' : letter;
  }
  return safe;
}

std::string row_line(const DefectRow& row) {
  const std::string state(name_of(row.state));
  const std::string told = row.state == RowState::kCaught ? state : "**" + state + "**";
  std::string cause;
  if (row.state != RowState::kCaught) {
    cause = "visible when `" + row.visible_when + "`";
  } else if (row.smallest) {
    cause = cause_text(row.smallest->record) + " in `" + row.smallest->case_name + "`";
  }
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                     cell(row.id),
                     told,
                     row.num_visible_caught == row.num_visible
                         ? with_commas(row.num_visible)
                         : with_commas(row.num_visible_caught) + "/" + with_commas(row.num_visible),
                     with_commas(row.cases.missed),
                     with_commas(row.cases.equivalent),
                     with_commas(row.cases.unreached),
                     with_commas(row.cases.inert),
                     with_commas(row.num_beyond),
                     cell(checks_text(row)),
                     cell(cause));
}

std::string list(const std::string& title, const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string text = "\n**" + title + "**\n\n";
  for (std::size_t i = 0; i < std::min(lines.size(), kMaxListed); ++i) {
    text += "- " + cell(lines[i]) + "\n";
  }
  if (lines.size() <= kMaxListed) return text;
  return text + fmt::format("- and {} more\n", lines.size() - kMaxListed);
}

}  // namespace

std::string mutation_markdown(const Mutation& mutation) {
  std::string text = fmt::format("### {}: {}\n\nclean: {}; {} in {:.1f} s{}.\n\n",
                                 mutation.name,
                                 score_text(mutation),
                                 clean_text(mutation),
                                 plural(mutation.num_runs, "run", "runs"),
                                 mutation.seconds,
                                 mutation.interrupted ? ", interrupted" : "");
  text +=
      "| defect | state | caught | missed | equivalent | unreached | inert | beyond | checks | "
      "first cause |\n"
      "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |\n";
  for (const DefectRow& row : mutation.rows) text += row_line(row);
  std::vector<std::string> missed;
  for (const MissedCase& one : mutation.missed)
    missed.push_back(one.defect + " in " + one.case_name);
  return text + list("missed", missed) + list("alarms", mutation.alarms);
}

}  // namespace lockstep::matrix
