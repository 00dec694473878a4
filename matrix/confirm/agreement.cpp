// Walks both trials step by step and rank by rank; the simulated one says what must be there.
#include "matrix/confirm/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulator/checks/block_error.h"
#include "simulator/checks/holdings.h"
#include "simulator/checks/scalars.h"
#include "simulator/checks/tally.h"

namespace lockstep::matrix {
namespace {

using backends::Finding;
using backends::FindingKind;

struct NamedShards {
  std::string_view kind;
  std::vector<Shard> StepResult::*shards;
};

constexpr std::array kTensors = {NamedShards{"gradient", &StepResult::gradients},
                                 NamedShards{"clipped gradient", &StepResult::clipped_gradients},
                                 NamedShards{"parameter", &StepResult::parameters},
                                 NamedShards{"master", &StepResult::masters},
                                 NamedShards{"exp_avg", &StepResult::exp_avg},
                                 NamedShards{"exp_avg_sq", &StepResult::exp_avg_sq}};

struct NamedScalar {
  std::string_view name;
  double StepResult::*value;
  double (*error)(double value, double reference);
};

constexpr std::array kScalars = {
    NamedScalar{"global loss", &StepResult::loss, sim::loss_error},
    NamedScalar{"reported loss", &StepResult::reported_loss, sim::loss_error},
    NamedScalar{"gradient norm", &StepResult::gradient_norm, sim::norm_error},
    NamedScalar{"parameter norm", &StepResult::parameter_norm, sim::norm_error}};

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Numbers of which a norm is finite: one infinity would make every block of its tensor equal.
sim::OracleTensor finite_part(const Shard& shard) {
  sim::OracleTensor tensor{.name = shard.name, .shape = shard.local_shape, .values = shard.values};
  for (double& value : tensor.values) {
    if (!std::isfinite(value)) value = 0.0;
  }
  return tensor;
}

std::vector<double> deviations(const Shard& here, const Shard& there) {
  std::vector<double> result(here.values.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double a = here.values[i];
    const double b = there.values[i];
    result[i] = is_same(a, b) ? 0.0 : std::abs(a - b);
  }
  return result;
}

bool are_alike(const Shard& here, const Shard& there) {
  return here.name == there.name && here.full_shape == there.full_shape &&
         here.local_shape == there.local_shape && here.slices == there.slices &&
         here.values.size() == there.values.size();
}

std::int64_t num_numbers(const StepResult& step) {
  constexpr std::size_t kNumCounts = 1;  // reported targets
  std::size_t num = kNumCounts + kScalars.size() + step.losses.size();
  for (const MicroBatchLoss& loss : step.losses) num += loss.activations.size();
  for (const NamedShards& tensors : kTensors) num += (step.*tensors.shards).size();
  return static_cast<std::int64_t>(num);
}

// Whose numbers are compared, and what they are called after: " (step 1)".
struct At {
  Rank rank;
  std::size_t step = 0;
  std::string suffix = {};  // ", micro-batch 3"

  std::string named(std::string_view kind, std::string_view name) const {
    const std::string words = name.empty() ? std::string(kind) : fmt::format("{} {}", kind, name);
    return sim::at_step(words + suffix, step);
  }
};

class Comparison {
 public:
  explicit Comparison(double bound) : tally_(kAgreement), bound_(bound) {}

  sim::CheckResult conclude() && { return std::move(tally_).conclude(); }
  sim::Tally& tally() { return tally_; }

  void compare_step(const At& at, const StepResult& here, const StepResult& there) {
    compare_losses(at, here.losses, there.losses);
    for (const NamedScalar& scalar : kScalars) {
      const double a = here.*scalar.value;
      const double b = there.*scalar.value;
      judge(is_same(a, b) ? 0.0 : scalar.error(b, a), at, scalar.name);
    }
    compare_counts(at, "reported targets", here.reported_targets, there.reported_targets);
    for (const NamedShards& tensors : kTensors) {
      compare_tensors(at, tensors.kind, here.*tensors.shards, there.*tensors.shards);
    }
  }

  void compare_probes(const At& at,
                      const std::vector<ProbeResult>& here,
                      const std::vector<ProbeResult>& there) {
    tally_.expect(static_cast<std::int64_t>(here.size()));
    if (!same_number(at, "probes", here.size(), there.size())) return;
    for (std::size_t i = 0; i < here.size(); ++i) {
      const double a = here[i].value;
      const double b = there[i].value;
      if (here[i].label != there[i].label) {
        differ(at, "probe", here[i].label, there[i].label);
      } else {
        judge(is_same(a, b) ? 0.0 : sim::norm_error(b, a), at, "probe", here[i].label);
      }
    }
  }

  // False, and a failure, where the numbers of things differ.
  bool same_number(const At& at, std::string_view what, std::size_t here, std::size_t there) {
    if (here == there) return true;
    differ(at, what, std::to_string(here), std::to_string(there));
    return false;
  }

 private:
  void differ(const At& at,
              std::string_view what,
              const std::string& here,
              const std::string& there) {
    tally_.fail(fmt::format("rank {}, {}: {} simulated, {} on the other backend",
                            at.rank.value,
                            at.named(what, ""),
                            here,
                            there));
  }

  void compare_counts(const At& at, std::string_view what, std::int64_t here, std::int64_t there) {
    if (here == there) {
      judge(0.0, at, what);
    } else {
      differ(at, what, std::to_string(here), std::to_string(there));
    }
  }

  void judge(double error, const At& at, std::string_view kind, std::string_view name = "") {
    if (!tally_.counts(error, bound_, 1)) return;
    tally_.add(
        {.where = at.named(kind, name), .ranks = {at.rank}, .error = error, .bound = bound_});
  }

  void compare_losses(At at,
                      const std::vector<MicroBatchLoss>& here,
                      const std::vector<MicroBatchLoss>& there) {
    if (!same_number(at, "micro-batches", here.size(), there.size())) return;
    for (std::size_t i = 0; i < here.size(); ++i) {
      const MicroBatchLoss& a = here[i];
      const MicroBatchLoss& b = there[i];
      at.suffix = fmt::format(", micro-batch {}", a.global_micro_batch);
      if (a.global_micro_batch != b.global_micro_batch || a.targets != b.targets) {
        const char* const text = "number {} with {} targets";
        differ(at,
               "loss",
               fmt::format(fmt::runtime(text), a.global_micro_batch, a.targets),
               fmt::format(fmt::runtime(text), b.global_micro_batch, b.targets));
        continue;
      }
      const bool is_equal = is_same(a.loss_sum, b.loss_sum);
      judge(is_equal ? 0.0 : sim::loss_error(b.loss_sum, a.loss_sum), at, "loss");
      compare_tensors(at, "activation", a.activations, b.activations);
    }
  }

  void compare_tensors(const At& at,
                       std::string_view kind,
                       const std::vector<Shard>& here,
                       const std::vector<Shard>& there) {
    if (!same_number(at, fmt::format("number of tensors ({})", kind), here.size(), there.size())) {
      return;
    }
    std::vector<sim::OracleTensor> references;
    references.reserve(here.size());
    for (const Shard& shard : here) references.push_back(finite_part(shard));
    const double norm_of_all = sim::norm_of_all(references);
    for (std::size_t i = 0; i < here.size(); ++i) {
      if (!are_alike(here[i], there[i])) {
        differ(at, kind, shape_text(here[i]), shape_text(there[i]));
        continue;
      }
      const sim::BlockMeasure measure(references[i], norm_of_all);
      judge(measure.worst(deviations(here[i], there[i])).error, at, kind, here[i].name);
    }
  }

  static std::string shape_text(const Shard& shard) {
    std::string text;
    for (const std::int64_t size : shard.local_shape) {
      text += (text.empty() ? "" : ", ") + std::to_string(size);
    }
    return fmt::format("{} of shape [{}] with {} values", shard.name, text, shard.values.size());
  }

  sim::Tally tally_;
  double bound_;
};

std::string_view name_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::kRankError:
      return "a rank's error";
    case FindingKind::kMismatch:
      return "a mismatch of calls";
    case FindingKind::kLost:
      return "a lost rank";
    case FindingKind::kStalled:
      return "a stalled rank";
    case FindingKind::kDeadlock:
      return "a deadlock";
    case FindingKind::kPending:
      return "a pending call";
  }
  return "";
}

// Why the trial stopped: the finding that sim::why_unfinished tells.
std::optional<FindingKind> end_of(const sim::TrialResult& trial) {
  for (const Finding& finding : trial.cluster.findings) {
    if (finding.kind != FindingKind::kPending) return finding.kind;
  }
  return std::nullopt;
}

sim::CheckResult of_unfinished(std::optional<FindingKind> here, std::optional<FindingKind> there) {
  if (!here) return sim::not_applicable(kAgreement, "only the simulated trial finished");
  if (!there) return sim::not_applicable(kAgreement, "the simulated trial did not finish");
  const std::string ending = fmt::format("the simulated trial ended in {}", name_of(*here));
  if (*here == *there) return sim::not_applicable(kAgreement, ending + ", as the other one did");
  sim::CheckResult result = sim::not_applicable(
      kAgreement, fmt::format("{}, the other one in {}", ending, name_of(*there)));
  result.verdict = sim::CheckVerdict::kFail;
  return result;
}

// The largest difference without a judgement on it. None at all is agreement in any precision.
sim::CheckResult told_only(sim::CheckResult result) {
  const double error = result.worst.error;
  if (!result.reason.empty() || !std::isfinite(error) || error == 0.0) return result;
  result.verdict = sim::CheckVerdict::kNotApplicable;
  result.reason = "a difference below f64 is told and not judged";
  result.worst.bound = std::numeric_limits<double>::infinity();
  result.failures.clear();
  return result;
}

}  // namespace

double agreement_bound(std::string_view device) {
  constexpr double kSameKernels = 1e-12;
  return device == "cpu" ? kSameKernels : sim::kBoundF64;
}

sim::CheckResult agreement(const sim::TrialResult& simulated,
                           const sim::TrialResult& other,
                           double bound) {
  const std::optional<FindingKind> here = end_of(simulated);
  const std::optional<FindingKind> there = end_of(other);
  if (here || there) return of_unfinished(here, there);
  const bool is_judged = simulated.c.recipe.dtype == Precision::kF64;
  Comparison comparison(bound);
  if (simulated.ranks.size() != other.ranks.size()) {
    comparison.tally().fail(fmt::format(
        "{} ranks simulated, {} on the other backend", simulated.ranks.size(), other.ranks.size()));
  }
  const auto num_steps = static_cast<std::size_t>(simulated.c.recipe.steps);
  for (std::size_t step = 0; step < num_steps; ++step) {
    for (std::size_t r = 0; r < simulated.ranks.size(); ++r) {
      const std::vector<StepResult>& steps = simulated.ranks[r].steps;
      if (step >= steps.size()) continue;
      comparison.tally().expect(num_numbers(steps[step]));
      if (r >= other.ranks.size() || step >= other.ranks[r].steps.size()) continue;
      comparison.compare_step({.rank = Rank{static_cast<int>(r)}, .step = step},
                              steps[step],
                              other.ranks[r].steps[step]);
    }
    // Without a judgement there is no first failure, only a largest difference.
    if (is_judged) comparison.tally().end_stage();
  }
  for (std::size_t r = 0; r < std::min(simulated.ranks.size(), other.ranks.size()); ++r) {
    const RankResult& a = simulated.ranks[r];
    const RankResult& b = other.ranks[r];
    const At at{.rank = Rank{static_cast<int>(r)}};
    if (!comparison.same_number(at, "steps", a.steps.size(), b.steps.size())) continue;
    comparison.compare_probes(at, a.probes, b.probes);
  }
  sim::CheckResult result = std::move(comparison).conclude();
  return is_judged ? result : told_only(std::move(result));
}

}  // namespace lockstep::matrix
