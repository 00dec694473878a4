// Probes: planted values whose norm and zeros are known, through the trial's own count plans.
//
// Each plan meets every parameter alone, so that the one it counts wrongly is named. Values go to
// whole gradient buckets, padding and gaps included, so that counting them is seen; the parameter
// norm's plan counts them there too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/train/counts.h"
#include "core/train/rank_result.h"

namespace lockstep {

enum class ProbedCount { kGradientNorm, kGradientZeros, kParameterNorm };

struct PlantedElement {
  ParameterId parameter;
  std::int64_t element = 0;  // of the flattened full tensor
  double value = 0.0;
};

struct FilledParameter {
  ParameterId parameter;
  double value = 0.0;
};

// One after the other: the background everywhere, then a parameter filled, then single elements.
struct ProbeEntry {
  std::string label;  // probe.grad_norm.ones
  ProbedCount count = ProbedCount::kGradientNorm;
  double background = 0.0;
  std::optional<FilledParameter> filled = {};
  std::vector<PlantedElement> planted = {};
};

struct ProbePlan {
  std::vector<ProbeEntry> entries;
};

// For both norms: probe.grad_norm.ones, and probe.grad_norm.<parameter> with ones in that parameter
// and zeros elsewhere. For the gradient norm, probe.grad_norm.single.<parameter>, one 1 in a
// parameter that is cut and in one that is not. For the zeros: probe.grad_zeros.<parameter> with
// zeros in that parameter and ones elsewhere, and probe.grad_zeros.planted with one zero in each.
// Elements are drawn by the recipe's seed.
ProbePlan plan_probes(const ParameterTable& table, const Recipe& recipe);
std::string to_text(const ProbePlan& plan);

// What is under test.
struct CountPlans {
  const CountPlan& gradient_norm;
  const CountPlan& gradient_zeros;
  const CountPlan& parameter_norm;
};

// Overwrites the gradients.
std::vector<ProbeResult> run_probes(const RankContext& context,
                                    const ProbePlan& plan,
                                    const CountPlans& counts,
                                    const ParameterTable& table,
                                    const GradientBuckets& buckets);

}  // namespace lockstep
