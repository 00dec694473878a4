// A confirmation for people: a line a case, then what they come to.
#include <fmt/format.h>

#include <cmath>

#include "matrix/confirm/confirmation_report.h"
#include "matrix/sweep/report_parts.h"

namespace lockstep::matrix {
namespace {

std::string difference_text(const sim::Place& place) {
  if (!std::isfinite(place.error)) return "not finite";
  return place.error == 0.0 ? "0" : fmt::format("{:.2g}", place.error);
}

// Nowhere is worse than elsewhere if all is equal.
std::string where_text(const sim::Place& place) {
  return place.error == 0.0 ? "" : place.where + ranks_text(place.ranks);
}

std::string outcome_text(const JoinedCase& joined) {
  if (!joined.agrees) return "DISAGREE: " + joined.reason;
  return joined.note.empty() ? "agree" : "agree (" + joined.note + ")";
}

std::string plural_cases(std::size_t count) {
  return plural(static_cast<std::int64_t>(count), "case", "cases");
}

std::string largest_text(std::string_view title, const JoinedCase* largest) {
  if (largest == nullptr) return "";
  std::string text = fmt::format("{} {}", title, difference_text(*largest->difference));
  const double bound = largest->difference->bound;
  if (std::isfinite(bound)) text += fmt::format(", bound {:g}", bound);
  const std::string where = where_text(*largest->difference);
  return where.empty() ? text + "\n" : fmt::format("{}: {}, in {}\n", text, where, largest->name);
}

}  // namespace

std::vector<std::vector<std::string>> confirmation_rows(const Confirmation& confirmation) {
  std::vector<std::vector<std::string>> rows = {
      {"case", "inproc", confirmation.comm, "difference", "where", "outcome"}};
  for (const JoinedCase& joined : confirmation.cases) {
    rows.push_back({joined.name,
                    std::string(name_of(joined.simulated)),
                    std::string(name_of(joined.confirmed)),
                    joined.difference ? difference_text(*joined.difference) : "",
                    joined.difference ? where_text(*joined.difference) : "",
                    outcome_text(joined)});
  }
  return rows;
}

std::string confirmation_closing(const Confirmation& confirmation) {
  const std::size_t num_agreeing = confirmation.num_agreeing();
  const std::size_t num_confirmed = confirmation.cases.size();
  std::string text =
      fmt::format("{}: {} of {} that fit, over {} in {:.1f} s: {} agree, {} disagree",
                  confirmation.name,
                  num_confirmed,
                  plural_cases(confirmation.num_fit),
                  confirmation.comm,
                  confirmation.seconds,
                  num_agreeing,
                  num_confirmed - num_agreeing);
  if (confirmation.interrupted) {
    text += fmt::format(", interrupted before {}", confirmation.num_chosen - num_confirmed);
  }
  text += "\n";
  text += largest_text("largest difference", confirmation.largest(true)) +
          largest_text("largest below f64", confirmation.largest(false));
  for (const LeftOut& left_out : confirmation.left_out) {
    text += fmt::format(
        "left out {}: {}\n", plural(left_out.num_cases, "case", "cases"), left_out.reason);
  }
  return text;
}

}  // namespace lockstep::matrix
