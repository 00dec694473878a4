// A mutation made by hand: three cases and as many defects as a test names.
#pragma once

#include <string>
#include <vector>

#include "matrix/mutate/mutation.h"

namespace lockstep::test {

// Cases a (world 4), b (world 2) and c (world 2), each as it is and with each defect. All are
// changed and none is visible until a test says otherwise; all records are a pass with the digest
// of the clean run.
struct SampleMutation {
  explicit SampleMutation(const std::vector<std::string>& defects);

  // Index of a run; defect "" is the clean run.
  std::size_t run(const std::string& case_name, const std::string& defect) const;
  matrix::MutantTraits& traits(const std::string& case_name, const std::string& defect);
  matrix::RunRecord& record(const std::string& case_name, const std::string& defect);

  void make_visible(const std::string& case_name, const std::string& defect);
  // The run fails `check` at `where`.
  void fail(const std::string& case_name,
            const std::string& defect,
            const std::string& check,
            const std::string& where);

  matrix::Mutation judged() const { return judge_all(plan, records); }

  matrix::MutationPlan plan;
  std::vector<matrix::RunRecord> records;
};

}  // namespace lockstep::test
