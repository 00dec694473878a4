// The outcome of a mutation for people, for a page of a CI job, and for programs.
#pragma once

#include <string>

#include "matrix/mutate/mutation.h"

namespace lockstep::matrix {

struct MutationReportOptions {
  bool color = false;
  std::string invalid = {};  // the part of invalid cases, as the sweep's report has it
  std::string results_path = {};
  std::string replay_command = {};  // of the first missed case; empty where none was missed
};

std::string mutation_text(const Mutation& mutation, const MutationReportOptions& options);

// A table of the rows, and what was missed: for a job's summary or a comment.
std::string mutation_markdown(const Mutation& mutation);

// One line: {"name","seconds","runs","clean":{"cases","passed","skipped"},
// "score":{"caught","defects","caught_cases","visible_cases"},
// "defects":[{"id","state","source","visible_when",
//             "cases":{"inert","unreached","equivalent","caught","missed","beyond","not_judged"},
//             "checks":{"grads":12},"check","where","ranks","hint","reason","case"}],
// "alarms":["..."],"missed":[{"defect","case"}],"interrupted"}. `beyond` is a part of `caught`;
// "check" to "case" tell of the smallest case that catches the defect, and are empty where none
// does.
std::string mutation_to_json(const Mutation& mutation);

// "41 of 43 defects caught; 1,203 of 1,210 cases in which they show".
std::string score_text(const Mutation& mutation);

// "58 of 58 pass": the cases as they are.
std::string clean_text(const Mutation& mutation);

// "grads 12, params 12": the checks that caught a defect, with the number of cases.
std::string checks_text(const DefectRow& row);

}  // namespace lockstep::matrix
