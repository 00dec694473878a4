// Loads, overrides, expands and narrows a spec; the one file of the command that sees specs.
#include "matrix/cli/selection.h"

#include <algorithm>
#include <limits>
#include <map>

#include "core/base/errors.h"
#include "core/config/fields.h"
#include "matrix/cli/output.h"
#include "matrix/cli/values.h"
#include "matrix/spec/expand.h"
#include "matrix/spec/select.h"
#include "matrix/spec/spec.h"
#include "simulator/checks/checks.h"

namespace lockstep::matrix {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

std::vector<KnownCheck> known_checks() {
  std::vector<KnownCheck> known;
  for (const sim::Check& check : sim::checks()) {
    known.push_back({.name = check.name, .built = check.built});
  }
  return known;
}

Spec overridden_spec(const Arguments& arguments) {
  Spec spec = load_spec(arguments.subject, known_checks());
  for (const std::string& assignment : arguments.set) override_field(spec, assignment);
  if (!arguments.seed.empty()) {
    const auto largest = static_cast<std::int64_t>(find_field("seed")->largest);
    integer_option("--seed", arguments.seed, 0, largest);
    override_field(spec, "seed=" + arguments.seed);
  }
  return spec;
}

// The ids of the rows, sorted, each once: the same defects in another order are the same case.
std::vector<std::string> checked_defects(const std::vector<std::string>& ids) {
  std::vector<std::string> checked;
  for (const std::string& id : ids) checked.push_back(defect_option(id));
  std::sort(checked.begin(), checked.end());
  checked.erase(std::unique(checked.begin(), checked.end()), checked.end());
  return checked;
}

std::optional<std::string> text_or_none(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

std::vector<std::size_t> positions(const std::vector<NamedCase>& known,
                                   const std::vector<NamedCase>& chosen) {
  std::map<std::string, std::size_t> position_of;
  for (std::size_t i = 0; i < known.size(); ++i) position_of.emplace(known[i].name, i);
  std::vector<std::size_t> found;
  for (const NamedCase& one : chosen) found.push_back(position_of.at(one.name));
  return found;
}

}  // namespace

CaseSelection select_cases(const Arguments& arguments) {
  std::optional<Shard> shard;
  if (!arguments.shard.empty()) shard = parse_shard(arguments.shard);
  std::optional<std::int64_t> limit;
  if (!arguments.limit.empty()) limit = integer_option("--limit", arguments.limit, 1, kLargest);
  const std::vector<std::string> defects = checked_defects(arguments.defects);

  const Spec spec = overridden_spec(arguments);
  CaseSelection selection;
  selection.name = spec.name;
  selection.checks = spec.checks;
  selection.known = expand(spec);
  for (NamedCase& one : selection.known) one.c.defects = defects;

  std::vector<NamedCase> chosen = select(
      selection.known, Selection{.only = text_or_none(arguments.only), .shard = {}, .limit = {}});
  selection.num_before_shard = chosen.size();
  chosen = select(std::move(chosen), Selection{.only = {}, .shard = shard, .limit = limit});
  selection.selected = positions(selection.known, chosen);
  return selection;
}

std::vector<const Case*> cases_to_run(const CaseSelection& selection) {
  std::vector<const Case*> cases;
  for (const std::size_t index : selection.selected) {
    const NamedCase& one = selection.known[index];
    if (one.invalid_reason.empty()) cases.push_back(&one.c);
  }
  return cases;
}

int exit_code_of_nothing(const CaseSelection& selection, const Arguments& arguments) {
  if (selection.num_before_shard > 0) {
    print_error("note: shard " + arguments.shard + " of this sweep holds no case");
    return 0;
  }
  print_error(arguments.only.empty() ? "note: the spec has no case"
                                     : "note: no case of the spec satisfies --only");
  return 4;
}

}  // namespace lockstep::matrix
