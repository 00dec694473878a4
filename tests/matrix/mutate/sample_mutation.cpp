// Plans without the table of defects, so that any state can be made.
#include "tests/matrix/mutate/sample_mutation.h"

#include <gtest/gtest.h>

#include "tests/matrix/sweep/sample_results.h"

namespace lockstep::test {

SampleMutation::SampleMutation(const std::vector<std::string>& defects) {
  for (const std::string& id : defects) {
    plan.defects.push_back({.id = id,
                            .source = "source of " + id,
                            .summary = "",
                            .visible_when = "tp > 1",
                            .edit = nullptr});
  }
  for (const std::string name : {"a", "b", "c"}) {
    matrix::NamedCase clean{.name = name, .c = sample_case(1), .invalid_reason = ""};
    clean.c.layout.tp = name == "a" ? 4 : 2;
    const std::size_t clean_run = plan.runs.size();
    plan.runs.push_back(clean);
    plan.roles.push_back({.clean = clean_run});
    for (std::size_t row = 0; row < defects.size(); ++row) {
      plan.runs.push_back(mutant_of(clean, plan.defects[row]));
      plan.roles.push_back({.clean = clean_run, .row = row});
    }
  }
  for (const matrix::NamedCase& one : plan.runs) {
    records.push_back(record_of(sample_result(one.name, 1, matrix::Verdict::kPass)));
  }
}

std::size_t SampleMutation::run(const std::string& case_name, const std::string& defect) const {
  const std::string name = defect.empty() ? case_name : matrix::mutant_name(case_name, defect);
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    if (plan.runs[i].name == name) return i;
  }
  ADD_FAILURE() << "no run " << name;
  return 0;
}

matrix::MutantTraits& SampleMutation::traits(const std::string& case_name,
                                             const std::string& defect) {
  return plan.roles[run(case_name, defect)].traits;
}

matrix::RunRecord& SampleMutation::record(const std::string& case_name, const std::string& defect) {
  return records[run(case_name, defect)];
}

void SampleMutation::make_visible(const std::string& case_name, const std::string& defect) {
  traits(case_name, defect).is_visible = true;
}

void SampleMutation::fail(const std::string& case_name,
                          const std::string& defect,
                          const std::string& check,
                          const std::string& where) {
  matrix::CaseResult result = sample_result(case_name, 1, matrix::Verdict::kFail);
  result.checks = {failed_check(check, where, "x2 = dp")};
  record(case_name, defect) = record_of(result);
}

}  // namespace lockstep::test
