// Puts this run's own tensors together, applies the optimizer's arithmetic, and compares elements.
#include "simulator/checks/update.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "simulator/checks/dealing.h"
#include "simulator/checks/holdings.h"
#include "simulator/checks/optimizer_arithmetic.h"
#include "simulator/checks/rounding.h"
#include "simulator/checks/rounding_allowance.h"
#include "simulator/checks/tally.h"

namespace lockstep::sim {
namespace {

using Values = std::vector<double>;

struct UlpError {
  double error = 0.0;
  double bound = 0.0;
};

// Where the optimizer was given 0, an ulp is the smallest number there is, and any difference is
// more ulps than mean anything, or overflows: what is told as infinite is a value that is.
double in_ulps(double difference, double ulp) {
  constexpr double kMost = 1e99;
  return std::isfinite(difference) ? std::min(difference / ulp, kMost) : difference;
}

struct Tensor {
  std::size_t step = 0;
  std::size_t index = 0;
  const OracleTensor& named;
};

// One tensor's update in f64, from what the run held before.
struct Expected {
  UpdateInputs inputs;
  Values master;
  Values exp_avg;
  Values exp_avg_sq;
};

class UpdateComparison {
 public:
  UpdateComparison(const TrialResult& trial, const MeasuredOracle& oracle)
      : trial_(trial),
        oracle_(oracle),
        recipe_(trial.c.recipe),
        masters_(has_masters(recipe_) ? TensorKind::kMaster : TensorKind::kParameter),
        gradients_(recipe_.clip > 0.0 ? TensorKind::kClippedGradient : TensorKind::kGradient),
        tally_("update") {}

  CheckResult run() && {
    for (const TensorKind kind : {TensorKind::kGradient,
                                  TensorKind::kClippedGradient,
                                  TensorKind::kExpAvg,
                                  TensorKind::kExpAvgSq,
                                  TensorKind::kMaster,
                                  TensorKind::kParameter}) {
      const std::string misfit = misfit_of(trial_, oracle_, kind);
      if (!misfit.empty()) tally_.fail(misfit);
    }
    for (std::size_t step = 0; step < oracle_.steps().size(); ++step) {
      const std::vector<OracleTensor>& tensors = oracle_.steps()[step].parameters;
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        compare_tensor({.step = step, .index = i, .named = tensors[i]});
      }
      tally_.end_stage();
    }
    return std::move(tally_).conclude();
  }

 private:
  bool is_adamw() const { return recipe_.optimizer == Optimizer::kAdamW; }

  void compare_tensor(const Tensor& tensor) {
    const std::int64_t kinds = 1 + (is_adamw() ? 2 : 0) + (has_masters(recipe_) ? 1 : 0);
    tally_.expect(kinds * num_holders(trial_.c));
    if (!work_out(tensor)) return;
    if (is_adamw()) {
      compare(tensor, TensorKind::kExpAvg, expected_.exp_avg, allowance_of_exp_avg);
      compare(tensor, TensorKind::kExpAvgSq, expected_.exp_avg_sq, allowance_of_exp_avg_sq);
    }
    compare(tensor, masters_, expected_.master, allowance_of_master);
    if (has_masters(recipe_)) compare_rounding(tensor);
  }

  std::vector<RankShard> shards(const Tensor& tensor, std::size_t step, TensorKind kind) const {
    return shards_of(
        trial_, {.kind = kind, .step = step, .index = tensor.index, .name = tensor.named.name});
  }

  // Where the ranks' shards do not make the tensor up, says why.
  bool is_whole(const Dealing& dealing, const Tensor& tensor, std::size_t step, TensorKind kind) {
    if (dealing.problem.empty() && dealing.num_elements == tensor.named.values.size()) return true;
    tally_.fail(fmt::format(
        "{} ({}): {}",
        at_step(tensor.named.name, step),
        name_of(kind),
        dealing.problem.empty() ? "another full shape than the reference's" : dealing.problem));
    return false;
  }

  bool put_together(const Tensor& tensor, std::size_t step, TensorKind kind, Values& values) {
    const std::vector<RankShard> held = shards(tensor, step, kind);
    const Dealing& dealing = dealings_.of(tensor.index, held);
    if (!is_whole(dealing, tensor, step, kind)) return false;
    gather(dealing, held, values);
    return true;
  }

  // Fills in expected_; false where something of the run cannot be put together.
  bool work_out(const Tensor& tensor) {
    UpdateInputs& inputs = expected_.inputs;
    inputs.weight_decay = weight_decay_of(recipe_, tensor.named.shape);
    inputs.step = static_cast<std::int64_t>(tensor.step) + 1;
    if (!put_together(tensor, tensor.step, gradients_, inputs.gradient)) return false;
    if (!put_together_before(tensor)) return false;
    apply(inputs.weight_decay);
    return true;
  }

  // Masters and moments before the step: its predecessor's, or the initial ones.
  bool put_together_before(const Tensor& tensor) {
    UpdateInputs& inputs = expected_.inputs;
    if (tensor.step > 0) {
      const std::size_t before = tensor.step - 1;
      if (!put_together(tensor, before, masters_, inputs.master)) return false;
      return !is_adamw() ||
             (put_together(tensor, before, TensorKind::kExpAvg, inputs.exp_avg) &&
              put_together(tensor, before, TensorKind::kExpAvgSq, inputs.exp_avg_sq));
    }
    const std::vector<OracleTensor>& initial = oracle_.initial_parameters();
    if (tensor.index >= initial.size() || initial[tensor.index].name != tensor.named.name) {
      tally_.fail("the reference has no initial " + tensor.named.name);
      return false;
    }
    inputs.master = initial[tensor.index].values;
    for (double& value : inputs.master) value = rounded_to_state(recipe_.dtype, value);
    inputs.exp_avg.assign(is_adamw() ? inputs.master.size() : 0, 0.0);
    inputs.exp_avg_sq.assign(inputs.exp_avg.size(), 0.0);
    return true;
  }

  void apply(double weight_decay) {
    expected_.master = expected_.inputs.master;
    expected_.exp_avg = expected_.inputs.exp_avg;
    expected_.exp_avg_sq = expected_.inputs.exp_avg_sq;
    optimize(recipe_,
             weight_decay,
             expected_.inputs.step,
             {.gradient = expected_.inputs.gradient,
              .master = expected_.master,
              .exp_avg = expected_.exp_avg,
              .exp_avg_sq = expected_.exp_avg_sq});
  }

  std::string where_of(const Tensor& tensor, TensorKind kind) const {
    return at_step(fmt::format("{} ({})", tensor.named.name, name_of(kind)), tensor.step);
  }

  using AllowanceOf = Allowance (*)(const Recipe&, const UpdateInputs&);

  void compare(const Tensor& tensor, TensorKind kind, const Values& expected, AllowanceOf allow) {
    const std::vector<RankShard> held = shards(tensor, tensor.step, kind);
    const Dealing& dealing = dealings_.of(tensor.index, held);
    if (!is_whole(dealing, tensor, tensor.step, kind)) return;
    const std::vector<UlpError> errors = errors_of(dealing, held, expected, allow);
    UlpError worst = worst_of(errors);
    const bool is_frozen =
        kind == masters_ && worst.error != 0.0 && is_unmoved(dealing, held, expected);
    // Each step smaller than what rounding allows, and yet none of them taken.
    if (is_frozen && worst.error <= worst.bound) worst.bound = 0.0;
    if (!tally_.counts(worst.error, worst.bound, static_cast<std::int64_t>(held.size()))) return;
    Place place{.where = where_of(tensor, kind), .error = worst.error, .bound = worst.bound};
    if (!(worst.error <= worst.bound)) {
      for (std::size_t i = 0; i < held.size(); ++i) {
        const bool holds = errors[i].error <= errors[i].bound;
        if (is_frozen || !holds) place.ranks.push_back(held[i].rank);
      }
      place.hint = is_frozen ? "not updated" : decay_hint(tensor, kind, dealing, held);
    }
    tally_.add(std::move(place));
  }

  static UlpError worst_of(const std::vector<UlpError>& errors) {
    UlpError worst = errors.front();
    for (const UlpError& own : errors) {
      if (is_worse(excess(own.error, own.bound), excess(worst.error, worst.bound))) worst = own;
    }
    return worst;
  }

  // By holder, the worst of its elements. The allowance is worked out where an element needs it.
  std::vector<UlpError> errors_of(const Dealing& dealing,
                                  const std::vector<RankShard>& held,
                                  const Values& expected,
                                  AllowanceOf allow) const {
    std::optional<Allowance> allowance;
    std::vector<UlpError> errors;
    for (std::size_t i = 0; i < held.size(); ++i) {
      const Part& part = dealing.parts[i];
      const Shard& shard = *held[i].shard;
      if (part.first_alike != i && are_same_bits(part, *held[part.first_alike].shard, shard)) {
        errors.push_back(errors[part.first_alike]);
        continue;
      }
      const bool is_exact = equals(part, shard, expected);
      if (!is_exact && !allowance.has_value()) allowance = allow(recipe_, expected_.inputs);
      errors.push_back(is_exact ? UlpError{} : error_of(part, shard, expected, *allowance));
    }
    return errors;
  }

  static bool equals(const Part& part, const Shard& shard, const Values& expected) {
    return std::all_of(part.stretches.begin(), part.stretches.end(), [&](const Stretch& stretch) {
      const double* const got = shard.values.data() + stretch.local;
      return std::equal(got, got + stretch.count, expected.data() + stretch.full);
    });
  }

  static UlpError error_of(const Part& part,
                           const Shard& shard,
                           const Values& expected,
                           const Allowance& allowance) {
    double worst = 0.0;  // difference / allowed
    UlpError error;
    for (const Stretch& stretch : part.stretches) {
      for (std::int64_t i = 0; i < stretch.count; ++i) {
        const auto full = static_cast<std::size_t>(stretch.full + i);
        const double got = shard.values[static_cast<std::size_t>(stretch.local + i)];
        const double difference = std::abs(got - expected[full]);
        const double times = difference / allowance.allowed[full];
        if (!is_worse(times, worst)) continue;
        worst = times;
        error = {.error = in_ulps(difference, allowance.ulp[full]),
                 .bound = allowance.allowed[full] / allowance.ulp[full]};
      }
    }
    return error;
  }

  // Whether the arithmetic, rounded to the master's type, moves some element, and the run moves
  // none.
  bool is_unmoved(const Dealing& dealing,
                  const std::vector<RankShard>& held,
                  const Values& expected) const {
    const Values& before = expected_.inputs.master;
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (!equals(dealing.parts[i], *held[i].shard, before)) return false;
    }
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (rounded_to_state(recipe_.dtype, expected[i]) != before[i]) return true;
    }
    return false;
  }

  // Whether the other answer to "is this decayed?" explains a wrong master. Spoils expected_.
  std::string decay_hint(const Tensor& tensor,
                         TensorKind kind,
                         const Dealing& dealing,
                         const std::vector<RankShard>& held) {
    if (kind != masters_ || recipe_.weight_decay == 0.0) return "";
    const bool is_decayed = weight_decay_of(recipe_, tensor.named.shape) != 0.0;
    expected_.inputs.weight_decay = is_decayed ? 0.0 : recipe_.weight_decay;
    apply(expected_.inputs.weight_decay);
    const UlpError other =
        worst_of(errors_of(dealing, held, expected_.master, allowance_of_master));
    if (!(other.error <= other.bound)) return "";
    return is_decayed ? "as without weight decay" : "as with weight decay";
  }

  // Of each rank's own tensors: a rank may lay out its parameter like its master only.
  void compare_rounding(const Tensor& tensor) {
    const std::vector<RankShard> masters = shards(tensor, tensor.step, TensorKind::kMaster);
    const std::vector<RankShard> parameters = shards(tensor, tensor.step, TensorKind::kParameter);
    const Dealing dealing = deal(masters);
    if (!fits(dealing, parameters)) {
      tally_.fail(where_of(tensor, TensorKind::kParameter) + ": not dealt to ranks as masters are");
      return;
    }
    Place place;
    for (std::size_t i = 0; i < masters.size(); ++i) {
      const double error =
          rounding_error(dealing.parts[i], *masters[i].shard, *parameters[i].shard);
      if (error != 0.0) place.ranks.push_back(masters[i].rank);
      if (is_worse(error, place.error)) place.error = error;
    }
    if (!tally_.counts(place.error, 0.0, static_cast<std::int64_t>(masters.size()))) return;
    place.where = where_of(tensor, TensorKind::kParameter);
    if (place.error != 0.0) place.hint = "not the master rounded to bf16";
    tally_.add(std::move(place));
  }

  static double rounding_error(const Part& part, const Shard& master, const Shard& parameter) {
    double worst = 0.0;
    for (const Stretch& stretch : part.stretches) {
      for (std::int64_t i = 0; i < stretch.count; ++i) {
        const auto local = static_cast<std::size_t>(stretch.local + i);
        const double error =
            std::abs(parameter.values[local] - rounded_to_bf16(master.values[local]));
        if (is_worse(error, worst)) worst = error;
      }
    }
    return worst;
  }

  const TrialResult& trial_;
  const MeasuredOracle& oracle_;
  const Recipe& recipe_;
  TensorKind masters_;
  TensorKind gradients_;
  Tally tally_;
  Dealings dealings_;
  Expected expected_;  // kept for its memory
};

}  // namespace

CheckResult check_update(const TrialResult& trial, const MeasuredOracle& oracle) {
  if (trial.c.recipe.forward_only) return not_applicable("update", kForwardOnlyReason);
  return UpdateComparison(trial, oracle).run();
}

}  // namespace lockstep::sim
