// Probes: planted gradients whose norm and zero count are known, through the trial's own plans.
//
// The background goes to whole buckets, padding and gaps included, so that counting them is seen.
#pragma once

#include <string>
#include <vector>

#include "core/train/counts.h"
#include "core/train/rank_result.h"

namespace lockstep {

struct PlantedElement {
  ParameterId parameter;
  std::int64_t element = 0;  // of the flattened full tensor
  double value = 0.0;
};

struct ProbeEntry {
  std::string label;  // probe.ones
  double background = 0.0;
  std::vector<PlantedElement> planted = {};
};

struct ProbePlan {
  std::vector<ProbeEntry> entries;
};

// probe.ones; probe.single.<parameter> of one parameter that is cut and one that is not;
// probe.zeros, with a zero in every parameter. Elements are drawn by the recipe's seed.
ProbePlan plan_probes(const ParameterTable& table, const Recipe& recipe);
std::string to_text(const ProbePlan& plan);

// What is under test.
struct CountPlans {
  const CountPlan& norm;
  const CountPlan& zeros;
};

// Overwrites the gradients.
std::vector<ProbeResult> run_probes(const RankContext& context,
                                    const ProbePlan& plan,
                                    const CountPlans& counts,
                                    const ParameterTable& table,
                                    const GradientBuckets& buckets);

}  // namespace lockstep
