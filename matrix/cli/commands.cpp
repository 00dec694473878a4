// Rows of the table of sub-commands, in the order in which help lists them.
#include "matrix/cli/commands.h"

#include <utility>

#include "matrix/crew/crew_ranks.h"

namespace lockstep::matrix {
namespace {

using A = Arguments;

const ValueOption kShard{"--shard", &A::shard, "I/N", "only part I of N, counted from 1"};
const ValueOption kOnly{"--only", &A::only, "EXPR", "only cases for which this holds: 'tp > 1'"};
const ValueOption kLimit{
    "--limit", &A::limit, "N", "only the first N of those, in the spec's order"};
const ValueOption kSeed{
    "--seed", &A::seed, "S", "seed of weights and data, for all cases (as --set seed=S)"};
const ValueOption kRanks{
    "--ranks", &A::ranks, "fibers|threads", "what a simulated rank runs on (fibers)"};
const ValueOption kDevice{
    "--device", &A::device, "cpu|cuda", "what computes (cpu; cuda with --comm nccl)"};
const ValueOption kComm{"--comm", &A::comm, "inproc|gloo|nccl", "what communicates (inproc)"};
const ValueOption kGpus{
    "--gpus", &A::gpus, "N", "over nccl: the first N of the GPUs that are visible (all)"};
const ValueOption kJobs{
    "--jobs", &A::jobs, "N", "worker processes (the number of cores; 1 over gloo and on GPUs)"};
const ValueOption kTimeout{"--timeout", &A::timeout, "S", "seconds a case may take (60)"};
const SwitchOption kShareGpusSwitch{kShareGpus, &A::share_gpus, "over nccl: ranks may share a GPU"};
const ListOption kSet{
    "--set", &A::set, "KEY=VALUE", "override a field of the spec's model, layout or recipe"};
const ListOption kDefect{"--defect", &A::defects, "ID", "edit this known bug into every case"};

const char* const kMutateExitCodes =
    "Exit codes: 0 every defect was caught, 1 a defect was missed or there is an alarm;\n"
    "            1 also where no case of the spec could show a defect, 2 bad usage or input,\n"
    "            3 not in this build or machine, 4 nothing ran, 130 interrupted.";

const char* const kConfirmExitCodes =
    "Exit codes: 0 all agree, 1 some case disagrees, 2 bad usage or input,\n"
    "            3 not in this build or machine, 4 nothing was confirmed, 130 interrupted.";

// Of the sub-commands that run the cases of a spec. `folder` is where results go by default.
std::vector<ValueOption> sweep_values(const std::string& folder, ValueOption format) {
  return {{"--out",
           &A::out,
           "DIR",
           "where results go (lockstep-out/" + folder +
               "); replaces earlier results there unless --resume"},
          kDevice,
          kComm,
          kRanks,
          kGpus,
          kJobs,
          kShard,
          kOnly,
          kLimit,
          kSeed,
          kTimeout,
          std::move(format)};
}

Command sweep_row() {
  return {.name = "sweep",
          .summary = "run all cases of a spec and hold each against the reference",
          .subject = "SPEC",
          .subject_summary = "the spec, a YAML file",
          .example = "lockstep sweep ci/matrices/quick.yaml --jobs 2 --only 'tp > 1'",
          .values = sweep_values("NAME",
                                 {"--format", &A::format, "text|json", "report or summary (text)"}),
          .lists = {kDefect, kSet},
          .switches = {{"--resume",
                        &A::resume,
                        "keep cases of --out that passed or failed, run the others"}},
          .run = sweep_command};
}

Command mutate_row() {
  return {.name = "mutate",
          .summary = "every known defect in turn: caught or missed, by which check, where",
          .subject = "SPEC",
          .subject_summary = "the spec, a YAML file",
          .example = "lockstep mutate ci/matrices/quick.yaml --defect B27-dp-reduction-missing",
          .values = sweep_values("NAME-mutate",
                                 {"--format",
                                  &A::format,
                                  "text|json|markdown",
                                  "report, mutation.json, or a page for a CI job (text)"}),
          .lists = {{"--defect", &A::defects, "ID", "only this known bug (all of them)"}, kSet},
          .switches = {{"--resume",
                        &A::resume,
                        "keep runs of --out that passed or failed, run the others"}},
          .run = mutate_command,
          .exit_codes = kMutateExitCodes};
}

Command expand_row() {
  return {.name = "expand",
          .summary = "list the cases of a spec without running them",
          .subject = "SPEC",
          .subject_summary = "the spec, a YAML file",
          .example = "lockstep expand ci/matrices/quick.yaml --shard 1/4 --format github",
          .values = {kShard,
                     kOnly,
                     kLimit,
                     kSeed,
                     {"--format",
                      &A::format,
                      "table|json|github",
                      "table, one JSON object a line, or a job matrix (table)"}},
          .lists = {kDefect, kSet},
          .switches = {},
          .run = expand_command};
}

Command run_row() {
  return {.name = "run",
          .summary = "run one case in this process; its result line goes to standard output",
          .subject = "",
          .subject_summary = "",
          .example = "lockstep run --case '{\"preset\":\"tiny-linear\",\"tp\":2,\"dp\":3}'",
          .values = {{"--case", &A::case_text, "JSON|@FILE", "the case; missing fields: defaults"},
                     kDevice,
                     kComm,
                     kRanks,
                     kGpus,
                     kTimeout,
                     {"--trace", &A::trace, "FILE", "write a timeline (not built yet)"},
                     {"--dump", &A::dump, "DIR", "write all tensors (not built yet)"}},
          .lists = {},
          .switches = {},
          .run = run_command};
}

Command planned(const std::string& name, const std::string& summary, const std::string& example) {
  return {.name = name,
          .summary = summary + " (not built yet)",
          .subject = "",
          .subject_summary = "",
          .example = example,
          .values = {},
          .lists = {},
          .switches = {},
          .run = nullptr};
}

Command list_row() {
  return {.name = "list",
          .summary = "what there is: axes, checks, defects, presets, backends",
          .subject = "WHAT",
          .subject_summary = "axes, checks, defects, presets or backends",
          .example = "lockstep list axes",
          .values = {},
          .lists = {},
          .switches = {},
          .run = list_command};
}

Command confirm_row() {
  return {
      .name = "confirm",
      .summary = "run cases of a sweep again on another backend and hold both against each other",
      .subject = "DIR",
      .subject_summary = "the folder of a sweep's results",
      .example = "lockstep confirm lockstep-out/quick --comm gloo --limit 5",
      .values = {{"--comm", &A::comm, "gloo|nccl", "what communicates"},
                 {"--limit", &A::limit, "N", "only N cases, those that show most"},
                 kGpus,
                 {"--launcher",
                  &A::asked_launcher,
                  "local|mpirun|slurm",
                  "how this command must have been started; local: alone, whatever is seen"},
                 kTimeout,
                 kJobs,
                 {"--format", &A::format, "text|json", "table or one JSON object (text)"}},
      .lists = {},
      .switches = {},
      .run = confirm_command,
      .exit_codes = kConfirmExitCodes};
}

Command worker_row() {
  return {.name = "worker",
          .summary = "serve cases of a sweep on standard input",
          .subject = "",
          .subject_summary = "",
          .example = "lockstep worker < requests",
          .values = {kDevice,
                     kComm,
                     kRanks,
                     kGpus,
                     kTimeout,
                     {"--checks", &A::checks, "LIST", "names of checks, by commas"},
                     {"--against", &A::against, "inproc", "what to hold each trial against"},
                     {"--processes", &A::processes, "N", "processes that a launcher started"},
                     {"--host", &A::host, "NAME", "this host, as those processes reach it"},
                     {"--listening", &A::listening, "FD", "the socket at which they arrive"}},
          .lists = {},
          .switches = {kShareGpusSwitch},
          .run = worker_command,
          .hidden = true};
}

Command rank_row() {
  return {.name = "rank",
          .summary = "serve one rank of every trial over Gloo, or a host's ranks over NCCL",
          .subject = "",
          .subject_summary = "",
          .example = "lockstep rank --coordinator 127.0.0.1:4000 --seat 0 --generation 1",
          .values = {{"--coordinator", &A::coordinator, "HOST:PORT", "who gives the orders"},
                     {"--seat", &A::seat, "N", "over gloo: which rank"},
                     {"--generation", &A::generation, "N", "over gloo: which of its processes"},
                     kComm,
                     kTimeout},
          .lists = {},
          .switches = {kShareGpusSwitch},
          .run = rank_command,
          .hidden = true};
}

}  // namespace

std::span<const Command> commands() {
  static const std::vector<Command> table = {
      sweep_row(),
      expand_row(),
      run_row(),
      planned("explain",
              "the smallest condition under which cases fail",
              "lockstep explain lockstep-out/quick"),
      mutate_row(),
      planned("compare",
              "two dumps, each put together over its own layout",
              "lockstep compare dump-a dump-b --rtol 1e-6"),
      planned("plan",
              "plans, collectives, memory and time at full size, without data",
              "lockstep plan ci/matrices/quick.yaml"),
      confirm_row(),
      list_row(),
      planned("report",
              "a sweep's results as a document",
              "lockstep report lockstep-out/quick --format html"),
      worker_row(),
      rank_row()};
  return table;
}

}  // namespace lockstep::matrix
