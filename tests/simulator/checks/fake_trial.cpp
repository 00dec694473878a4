// Draws the oracle and cuts it over the layout.
#include "tests/simulator/checks/fake_trial.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "core/base/random.h"
#include "core/config/presets.h"

namespace lockstep::test {
namespace {

constexpr std::int64_t kVocab = 90;
constexpr std::int64_t kHidden = 8;
constexpr std::int64_t kFfn = 48;

sim::OracleTensor draw(std::string_view name, std::vector<std::int64_t> shape, std::uint64_t seed) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  sim::OracleTensor tensor{.name = std::string(name), .shape = std::move(shape), .values = {}};
  for (std::int64_t i = 0; i < count; ++i) {
    tensor.values.push_back(random_signed(seed, stream_of(name), static_cast<std::uint64_t>(i)));
  }
  return tensor;
}

std::vector<sim::OracleTensor> draw_all(std::uint64_t seed) {
  return {draw(kEmbedding, {kVocab, kHidden}, seed),
          draw(kNorm, {kHidden}, seed),
          draw(kFc1, {kFfn, kHidden}, seed),
          draw(kFc2, {kHidden, kFfn}, seed)};
}

sim::OracleStep draw_step(std::uint64_t seed) {
  sim::OracleStep step;
  for (std::uint64_t g = 0; g < 12; ++g) {
    step.micro_batch_losses.push_back(4.0 + random_unit(seed, stream_of("loss"), g));
    step.targets.push_back(static_cast<std::int64_t>(1 + g % 5));
  }
  step.loss = 4.5 + random_unit(seed, stream_of("loss"), 99);
  step.gradients = draw_all(seed);
  step.parameters = draw_all(seed + 100);
  return step;
}

// Padded to a multiple of 8 tp rows where it is the vocabulary; padding holds NaN.
Shard cut(const sim::OracleTensor& tensor, std::int64_t tp, std::int64_t tp_rank) {
  const bool is_whole = tensor.name == kNorm;
  const std::size_t dim = tensor.name == kFc2 ? 1 : 0;
  const std::int64_t size = tensor.shape[dim];
  const std::int64_t padded =
      tensor.name == kEmbedding ? (size + 8 * tp - 1) / (8 * tp) * 8 * tp : size;
  const std::int64_t local = is_whole ? size : padded / tp;
  const std::int64_t first = is_whole ? 0 : tp_rank * local;
  Shard shard{.name = tensor.name,
              .full_shape = tensor.shape,
              .local_shape = tensor.shape,
              .slice = {.dim = static_cast<int>(dim), .runs = {}},
              .values = {}};
  shard.local_shape[dim] = local;
  const std::int64_t real = std::clamp<std::int64_t>(size - first, 0, local);
  if (real > 0) shard.slice.runs = {{.local = 0, .global = first, .count = real}};
  const std::int64_t inner = dim == 0 && tensor.shape.size() == 2 ? tensor.shape[1] : 1;
  const std::int64_t outer = dim == 0 ? 1 : tensor.shape[0];
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < local * inner; ++i) {
      const std::int64_t full = (o * size + first) * inner + i;
      shard.values.push_back(i < real * inner ? tensor.values[static_cast<std::size_t>(full)]
                                              : std::numeric_limits<double>::quiet_NaN());
    }
  }
  return shard;
}

StepResult result_of(const sim::OracleStep& oracle, const Layout& layout, std::int64_t rank) {
  StepResult result{.losses = {}, .loss = oracle.loss, .gradients = {}, .parameters = {}};
  for (std::int64_t g = rank / layout.tp; g < 12; g += layout.dp) {
    const auto i = static_cast<std::size_t>(g);
    result.losses.push_back({.global_micro_batch = g,
                             .loss = oracle.micro_batch_losses[i],
                             .targets = oracle.targets[i]});
  }
  for (const sim::OracleTensor& tensor : oracle.gradients) {
    result.gradients.push_back(cut(tensor, layout.tp, rank % layout.tp));
  }
  for (const sim::OracleTensor& tensor : oracle.parameters) {
    result.parameters.push_back(cut(tensor, layout.tp, rank % layout.tp));
  }
  return result;
}

Shard& named(std::vector<Shard>& shards, std::string_view name) {
  for (Shard& shard : shards) {
    if (shard.name == name) return shard;
  }
  throw std::out_of_range("no such shard");
}

}  // namespace

StepResult& FakeTrial::step(int rank, std::size_t step) {
  return trial.ranks.at(static_cast<std::size_t>(rank)).steps.at(step);
}

Shard& FakeTrial::gradient(int rank, std::size_t at, std::string_view name) {
  return named(step(rank, at).gradients, name);
}

Shard& FakeTrial::parameter(int rank, std::size_t at, std::string_view name) {
  return named(step(rank, at).parameters, name);
}

FakeTrial make_trial(FakeLayout layout) {
  FakeTrial fake;
  Case& c = fake.trial.c;
  c = preset_case("tiny-linear");
  c.layout.tp = layout.tp;
  c.layout.dp = layout.dp;
  fake.oracle.steps = {draw_step(1), draw_step(2)};
  for (std::int64_t rank = 0; rank < layout.tp * layout.dp; ++rank) {
    RankResult result;
    for (const sim::OracleStep& step : fake.oracle.steps) {
      result.steps.push_back(result_of(step, c.layout, rank));
    }
    fake.trial.ranks.push_back(std::move(result));
  }
  const bool is_alone = layout.tp * layout.dp == 1;
  fake.trial.cluster = {
      .findings = {}, .num_calls = is_alone ? 0 : 40, .num_matched = is_alone ? 0 : 40};
  return fake;
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
