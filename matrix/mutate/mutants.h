// The runs of a mutation: each case as it is, then with each defect in turn.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "matrix/mutate/judgement.h"
#include "matrix/spec/expand.h"
#include "simulator/defects/defect.h"

namespace lockstep::matrix {

// What a run is for: the clean run of a case, or a defect's.
struct RunRole {
  std::size_t clean = 0;                // index of the case's clean run
  std::optional<std::size_t> row = {};  // of the defects; none: this is the clean run
  MutantTraits traits = {};             // of a mutant
};

struct MutationPlan {
  std::vector<sim::Defect> defects;
  std::vector<NamedCase> runs;
  std::vector<RunRole> roles;  // one a run
};

// More runs than this need a smaller spec, or a part of it.
inline constexpr std::size_t kMaxMutationRuns = 1'000'000;

// A case that is invalid has a clean run, which tells so, and no mutants. UsageError above
// kMaxMutationRuns.
MutationPlan plan_mutation(std::span<const NamedCase> cases, std::vector<sim::Defect> defects);

// "tp2.dp1+B27-dp-reduction-missing": the name of a mutant's run.
std::string mutant_name(const std::string& case_name, const std::string& defect);

// The case with the defect in it, under that name.
NamedCase mutant_of(const NamedCase& clean, const sim::Defect& defect);

}  // namespace lockstep::matrix
