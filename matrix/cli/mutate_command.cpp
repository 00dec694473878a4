// `lockstep mutate`: every case as it is and with each defect in turn, then who caught what.
#include <algorithm>
#include <set>

#include "core/base/errors.h"
#include "matrix/cli/commands.h"
#include "matrix/cli/gpu_options.h"
#include "matrix/cli/launched.h"
#include "matrix/cli/output.h"
#include "matrix/cli/selection.h"
#include "matrix/cli/sweep_options.h"
#include "matrix/cli/values.h"
#include "matrix/mutate/mutation_report.h"
#include "matrix/sweep/report_text.h"

namespace lockstep::matrix {
namespace {

const char* const kReplayFile = "first-missed.json";
const char* const kJsonFile = "mutation.json";

// The rows asked for, or all, in the table's order.
std::vector<sim::Defect> chosen_defects(const std::vector<std::string>& ids) {
  std::set<std::string> chosen;
  for (const std::string& id : ids) chosen.insert(defect_option(id));
  std::vector<sim::Defect> rows;
  for (const sim::Defect& defect : sim::defects()) {
    if (ids.empty() || chosen.contains(defect.id)) rows.push_back(defect);
  }
  return rows;
}

// A mutation's runs have their defects one by one.
CaseSelection select_clean_cases(Arguments arguments) {
  arguments.defects.clear();
  return select_cases(arguments);
}

std::vector<NamedCase> selected_cases(const CaseSelection& selection) {
  std::vector<NamedCase> cases;
  for (const std::size_t index : selection.selected) cases.push_back(selection.known[index]);
  return cases;
}

// What an earlier command may have run besides: its lines are kept on resume.
void append_other_runs(std::vector<NamedCase>& known, const CaseSelection& selection) {
  std::set<std::string> names;
  for (const NamedCase& run : known) names.insert(run.name);
  const auto append = [&](NamedCase run) {
    if (names.insert(run.name).second) known.push_back(std::move(run));
  };
  for (const NamedCase& one : selection.known) {
    append(one);
    if (!one.invalid_reason.empty()) continue;
    for (const sim::Defect& defect : sim::defects()) append(mutant_of(one, defect));
  }
}

struct Finished {
  SweepOutcome sweep;
  Mutation mutation;
};

Finished run_mutation(const MutationPlan& plan,
                      const CaseSelection& selection,
                      SweepOptions options,
                      ResultsFile& results) {
  std::vector<NamedCase> known = plan.runs;
  if (options.resume) append_other_runs(known, selection);
  std::vector<std::size_t> selected;
  for (std::size_t run = 0; run < plan.runs.size(); ++run) selected.push_back(run);
  std::vector<RunRecord> records(plan.runs.size());
  options.word_for_bad = "caught";
  options.word_for_cases = "runs";
  options.has_headroom = false;
  options.on_result = [&](std::size_t index, const CaseResult& result) {
    if (index < records.size()) records[index] = record_of(result);
  };
  Progress progress(stderr, Progress::style_for(stderr));
  Finished finished{.sweep = run_sweep(known, selected, options, results, progress),
                    .mutation = judge_all(plan, records)};
  Mutation& mutation = finished.mutation;
  mutation.name = selection.name;
  mutation.seconds = finished.sweep.summary.seconds;
  mutation.runs_per_second = finished.sweep.summary.cases_per_second;
  mutation.num_workers = finished.sweep.num_workers;
  mutation.num_kept = finished.sweep.num_kept;
  mutation.interrupted = finished.sweep.interrupted;
  return finished;
}

int lead_mutation(const Arguments& arguments) {
  const std::string format =
      arguments.format.empty()
          ? "text"
          : choice_option("--format", arguments.format, {"text", "json", "markdown"});
  const std::vector<sim::Defect> defects = chosen_defects(arguments.defects);
  const CaseSelection selection = select_clean_cases(arguments);
  const std::string name = selection.name + "-mutate";
  const Arguments settled = settle_gpus(arguments, cases_to_run(selection));
  const SweepOptions options = sweep_options(settled, name, selection.checks);
  const MutationPlan plan = plan_mutation(selected_cases(selection), defects);
  const std::string folder = results_folder(arguments, name);
  ResultsFile results(folder);
  const Finished finished = run_mutation(plan, selection, options, results);
  tell_dropped(finished.sweep);
  const Mutation& mutation = finished.mutation;
  results.write_beside(kJsonFile, mutation_to_json(mutation) + "\n");
  MutationReportOptions report{.color = use_color(),
                               .invalid = not_run_text(finished.sweep.tally, Paint(use_color())),
                               .results_path = results.path()};
  if (!mutation.missed.empty()) {
    const Case& missed = plan.runs[mutation.missed.front().run].c;
    report.replay_command = replay_command(missed, results, kReplayFile, arguments, folder);
  }
  if (format == "text") print_out(mutation_text(mutation, report));
  if (format == "json") print_out(mutation_to_json(mutation) + "\n");
  if (format == "markdown") print_out(mutation_markdown(mutation));
  if (selection.selected.empty()) return exit_code_of_nothing(selection, arguments);
  return exit_code_of(mutation);
}

}  // namespace

int mutate_command(const Arguments& arguments) {
  check_backends(arguments);
  return on_leader(arguments, lead_mutation);
}

}  // namespace lockstep::matrix
