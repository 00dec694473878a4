// Draws the oracle and what ranks would report of it.
#include "tests/simulator/checks/fake_trial.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/base/random.h"
#include "core/config/presets.h"
#include "simulator/checks/optimizer_arithmetic.h"
#include "simulator/checks/rounding.h"
#include "tests/simulator/checks/fake_cuts.h"

namespace lockstep::test {
namespace {

using sim::OracleTensor;
using Tensors = std::vector<OracleTensor>;

constexpr std::int64_t kVocab = 90;
constexpr std::int64_t kHidden = 8;
constexpr std::int64_t kFfn = 48;
constexpr std::int64_t kTokens = 8;
constexpr std::int64_t kMicroBatches = 12;

OracleTensor draw(std::string_view name, std::vector<std::int64_t> shape, std::uint64_t seed) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  OracleTensor tensor{.name = std::string(name), .shape = std::move(shape), .values = {}};
  for (std::int64_t i = 0; i < count; ++i) {
    tensor.values.push_back(random_signed(seed, stream_of(name), static_cast<std::uint64_t>(i)));
  }
  return tensor;
}

Tensors draw_parameters(std::uint64_t seed) {
  return {draw(kEmbedding, {kVocab, kHidden}, seed),
          draw(kNorm, {kHidden}, seed),
          draw(kFc1, {kFfn, kHidden}, seed),
          draw(kFc2, {kHidden, kFfn}, seed)};
}

Tensors draw_activations(std::uint64_t seed) {
  return {draw(kEmbedded, {kTokens, kHidden}, seed),
          draw(kActivated, {kTokens, kFfn}, seed),
          draw(kFc2Out, {kTokens, kHidden}, seed),
          draw(kLogits, {kTokens, kVocab}, seed)};
}

Tensors zeros_like(Tensors tensors) {
  for (OracleTensor& tensor : tensors) std::fill(tensor.values.begin(), tensor.values.end(), 0.0);
  return tensors;
}

double norm_of(const Tensors& tensors) {
  double squares = 0.0;
  for (const OracleTensor& tensor : tensors) {
    for (const double value : tensor.values) squares += value * value;
  }
  return std::sqrt(squares);
}

// What a step leaves behind, in full.
struct State {
  Tensors masters;
  Tensors exp_avg;
  Tensors exp_avg_sq;
};

// One run of the made-up model, in a precision: rounds all that it makes, but for f64.
class FakeRun {
 public:
  FakeRun(const Recipe& recipe, Precision precision) : recipe_(recipe), precision_(precision) {
    state_.masters = rounded(draw_parameters(300));
    state_.exp_avg = state_.exp_avg_sq = zeros_like(state_.masters);
  }

  sim::OracleStep step(std::uint64_t seed) {
    sim::OracleStep step;
    for (std::uint64_t g = 0; g < kMicroBatches; ++g) {
      step.micro_batch_losses.push_back(rounded(4.0 + random_unit(seed, stream_of("loss"), g)));
      step.targets.push_back(static_cast<std::int64_t>(1 + g % 5));
      step.activations.push_back(rounded(draw_activations(1000 * seed + g)));
    }
    step.loss = rounded(4.5 + random_unit(seed, stream_of("loss"), 99));
    if (recipe_.forward_only) return step;
    step.gradients = rounded(draw_parameters(seed));
    step.gradient_norm = norm_of(step.gradients);
    if (recipe_.clip > 0.0) step.clipped_gradients = clipped(step);
    update(recipe_.clip > 0.0 ? step.clipped_gradients : step.gradients);
    step.parameters = state_.masters;
    step.parameter_norm = norm_of(state_.masters);
    return step;
  }

  const State& state() const { return state_; }

 private:
  double rounded(double value) const { return sim::rounded_to_state(precision_, value); }

  Tensors rounded(Tensors tensors) const {
    for (OracleTensor& tensor : tensors) {
      for (double& value : tensor.values) value = rounded(value);
    }
    return tensors;
  }

  Tensors clipped(const sim::OracleStep& step) const {
    Tensors tensors = step.gradients;
    const double coefficient = std::min(1.0, recipe_.clip / (step.gradient_norm + 1e-6));
    for (OracleTensor& tensor : tensors) scale(tensor.values, coefficient);
    return rounded(tensors);
  }

  void update(const Tensors& gradients) {
    ++num_updates_;
    const bool has_moments = recipe_.optimizer == Optimizer::kAdamW;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      sim::optimize(
          recipe_,
          sim::weight_decay_of(recipe_, gradients[i].shape),
          num_updates_,
          {.gradient = gradients[i].values,
           .master = state_.masters[i].values,
           .exp_avg = has_moments ? state_.exp_avg[i].values : std::span<double>{},
           .exp_avg_sq = has_moments ? state_.exp_avg_sq[i].values : std::span<double>{}});
    }
    state_.masters = rounded(std::move(state_.masters));
    state_.exp_avg = rounded(std::move(state_.exp_avg));
    state_.exp_avg_sq = rounded(std::move(state_.exp_avg_sq));
  }

  const Recipe& recipe_;
  Precision precision_;
  State state_;
  std::int64_t num_updates_ = 0;
};

// What cp ranks have of a micro-batch's loss: terms that are unlike, of targets that are as alike
// as they can be.
MicroBatchLoss loss_of(const sim::OracleStep& step,
                       std::int64_t g,
                       const Layout& layout,
                       const FakePlace& place) {
  const auto i = static_cast<std::size_t>(g);
  const std::int64_t targets = step.targets[i];
  const auto terms = static_cast<double>(layout.cp * (layout.cp + 1) / 2);
  const double share = static_cast<double>(place.cp + 1) / terms;
  return {.global_micro_batch = g,
          .loss_sum = step.micro_batch_losses[i] * static_cast<double>(targets) * share,
          .targets = targets / layout.cp + (place.cp < targets % layout.cp ? 1 : 0),
          .activations = activation_shards(step.activations[i], layout, place, g)};
}

StepResult result_of(const sim::OracleStep& step,
                     const State& state,
                     const Case& c,
                     std::int64_t rank) {
  const Layout& layout = c.layout;
  const FakePlace place = place_of(rank, layout);
  StepResult result{};
  result.loss = step.loss;
  result.reported_loss = sim::reported_loss(step);
  result.reported_targets = step.num_targets();
  for (std::int64_t g = place.dp; g < kMicroBatches; g += layout.dp) {
    result.losses.push_back(loss_of(step, g, layout, place));
  }
  if (c.recipe.forward_only) return result;
  const auto shards_of = [&](const Tensors& tensors) {
    return parameter_shards(tensors, layout, place);
  };
  result.gradients = shards_of(step.gradients);
  result.clipped_gradients = shards_of(step.clipped_gradients);
  result.gradient_norm = step.gradient_norm;
  result.parameters = shards_of(step.parameters);
  result.parameter_norm = step.parameter_norm;
  if (c.recipe.dtype == Precision::kBF16) {
    result.masters = result.parameters;
    for (Shard& shard : result.parameters) {
      for (double& value : shard.values) value = sim::rounded_to_bf16(value);
    }
  }
  if (c.recipe.optimizer == Optimizer::kAdamW) {
    result.exp_avg = shards_of(state.exp_avg);
    result.exp_avg_sq = shards_of(state.exp_avg_sq);
  }
  return result;
}

double elements_of(const OracleTensor& tensor) { return static_cast<double>(tensor.values.size()); }

// In the order of core/train/probes.h.
std::vector<ProbeResult> probes_of(const Tensors& parameters) {
  double all = 0.0;
  for (const OracleTensor& tensor : parameters) all += elements_of(tensor);
  std::vector<ProbeResult> probes;
  const auto add_norm = [&](const std::string& area) {
    probes.push_back({.label = "probe." + area + ".ones", .value = std::sqrt(all)});
    for (const OracleTensor& tensor : parameters) {
      probes.push_back(
          {.label = "probe." + area + "." + tensor.name, .value = std::sqrt(elements_of(tensor))});
    }
  };
  add_norm("grad_norm");
  for (const std::string_view name : {kFc1, kNorm}) {
    probes.push_back({.label = "probe.grad_norm.single." + std::string(name), .value = 1.0});
  }
  for (const OracleTensor& tensor : parameters) {
    probes.push_back({.label = "probe.grad_zeros." + tensor.name, .value = elements_of(tensor)});
  }
  probes.push_back(
      {.label = "probe.grad_zeros.planted", .value = static_cast<double>(parameters.size())});
  add_norm("param_norm");
  return probes;
}

Case case_of(FakeLayout layout, const FakeRecipe& recipe) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = layout.tp;
  c.layout.cp = layout.cp;
  c.layout.dp = layout.dp;
  c.layout.sp = recipe.sp;
  c.recipe.dtype = recipe.dtype;
  c.recipe.optimizer = recipe.optimizer;
  c.recipe.lr = recipe.lr;
  c.recipe.weight_decay = recipe.weight_decay;
  c.recipe.clip = recipe.clip;
  c.recipe.forward_only = recipe.forward_only;
  return c;
}

void subtract(std::vector<sim::OracleTensor>& from, const std::vector<sim::OracleTensor>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    for (std::size_t j = 0; j < tensors[i].values.size(); ++j) {
      from[i].values[j] -= tensors[i].values[j];
    }
  }
}

sim::OracleStep less(sim::OracleStep step, const sim::OracleStep& reference) {
  for (std::size_t g = 0; g < reference.micro_batch_losses.size(); ++g) {
    step.micro_batch_losses[g] -= reference.micro_batch_losses[g];
    subtract(step.activations[g], reference.activations[g]);
  }
  step.loss -= reference.loss;
  step.gradient_norm -= reference.gradient_norm;
  subtract(step.gradients, reference.gradients);
  subtract(step.clipped_gradients, reference.clipped_gradients);
  return step;
}

}  // namespace

ProbeResult& probe(RankResult& rank, std::string_view label) {
  for (ProbeResult& own : rank.probes) {
    if (own.label == label) return own;
  }
  throw std::invalid_argument("no probe " + std::string(label));
}

Shard& named(std::vector<Shard>& shards, std::string_view name) {
  for (Shard& shard : shards) {
    if (shard.name == name) return shard;
  }
  throw std::out_of_range("no such shard");
}

StepResult& FakeTrial::step(int rank, std::size_t step) {
  return trial.ranks.at(static_cast<std::size_t>(rank)).steps.at(step);
}

void FakeTrial::on_all_ranks(std::size_t step, const std::function<void(StepResult&)>& damage) {
  for (RankResult& rank : trial.ranks) damage(rank.steps.at(step));
}

Shard& FakeTrial::gradient(int rank, std::size_t at, std::string_view name) {
  return named(step(rank, at).gradients, name);
}

Shard& FakeTrial::parameter(int rank, std::size_t at, std::string_view name) {
  return named(step(rank, at).parameters, name);
}

Shard& FakeTrial::activation(int rank,
                             std::size_t at,
                             std::size_t position,
                             std::string_view name) {
  return named(step(rank, at).losses.at(position).activations, name);
}

FakeTrial make_trial(FakeLayout layout, const FakeRecipe& recipe) {
  FakeTrial fake;
  fake.trial.c = case_of(layout, recipe);
  const Case& c = fake.trial.c;
  fake.oracle.initial_parameters = draw_parameters(300);
  const std::int64_t world = world_size(c.layout);
  fake.trial.ranks.resize(static_cast<std::size_t>(world));
  FakeRun exact(c.recipe, Precision::kF64);
  FakeRun run(c.recipe, c.recipe.dtype);
  for (const std::uint64_t seed : {1, 2}) {
    fake.oracle.steps.push_back(exact.step(seed));
    const sim::OracleStep step = run.step(seed);
    for (std::size_t rank = 0; rank < fake.trial.ranks.size(); ++rank) {
      fake.trial.ranks[rank].steps.push_back(
          result_of(step, run.state(), c, static_cast<std::int64_t>(rank)));
    }
    if (recipe.dtype != Precision::kF64) {
      fake.oracle.single_device.push_back(less(step, fake.oracle.steps.back()));
      // One draw: all of it might be no rounding, and none of it is more than that.
      fake.oracle.single_device_mean.push_back(fake.oracle.single_device.back());
    }
  }
  for (RankResult& rank : fake.trial.ranks) {
    if (recipe.forward_only) break;
    rank.probes = probes_of(fake.oracle.initial_parameters);
  }
  const std::int64_t num_calls = world == 1 ? 0 : 40;
  fake.trial.cluster = {.findings = {}, .num_calls = num_calls, .num_matched = num_calls};
  return fake;
}

FakeRecipe adamw_recipe(Precision dtype) {
  return {
      .dtype = dtype, .optimizer = Optimizer::kAdamW, .lr = 1e-3, .weight_decay = 0.1, .clip = 0.1};
}

void scale(std::vector<double>& values, double factor) {
  for (double& value : values) value *= factor;
}

std::vector<int> numbers_of(const std::vector<Rank>& ranks) {
  std::vector<int> numbers;
  for (const Rank rank : ranks) numbers.push_back(rank.value);
  return numbers;
}

}  // namespace lockstep::test
