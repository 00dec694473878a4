// A walk through the ranks' results.
#include "tests/simulator/runtime/trial_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockstep::test {
namespace {

void add_shards(const std::string& where,
                const std::vector<Shard>& shards,
                std::vector<NamedNumbers>& all) {
  for (const Shard& shard : shards) all.push_back({where + shard.name, shard.values});
}

void add_losses(const std::string& where, const StepResult& step, std::vector<NamedNumbers>& all) {
  all.push_back({where + "loss", {step.loss}});
  for (const MicroBatchLoss& loss : step.losses) {
    const std::string micro_batch =
        where + "micro-batch " + std::to_string(loss.global_micro_batch) + ", ";
    all.push_back({micro_batch + "loss_sum", {loss.loss_sum}});
    add_shards(micro_batch, loss.activations, all);
  }
}

double difference(const std::vector<double>& found, const std::vector<double>& wanted) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (found.size() != wanted.size()) return kInfinity;
  double apart = 0.0;
  double largest = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(found[i]) != std::isnan(wanted[i])) return kInfinity;
    if (std::isnan(found[i]) || found[i] == wanted[i]) continue;
    apart = std::max(apart, std::abs(found[i] - wanted[i]));
  }
  for (const double number : wanted) {
    if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
  }
  return apart == 0.0 ? 0.0 : apart / largest;
}

}  // namespace

std::vector<NamedNumbers> numbers_of(const std::vector<RankResult>& ranks) {
  std::vector<NamedNumbers> all;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (std::size_t i = 0; i < ranks[rank].steps.size(); ++i) {
      const StepResult& step = ranks[rank].steps[i];
      const std::string where =
          "rank " + std::to_string(rank) + ", step " + std::to_string(i) + ", ";
      add_losses(where, step, all);
      all.push_back({where + "gradient norm", {step.gradient_norm}});
      all.push_back({where + "parameter norm", {step.parameter_norm}});
      add_shards(where + "gradient of ", step.gradients, all);
      add_shards(where + "clipped gradient of ", step.clipped_gradients, all);
      add_shards(where, step.parameters, all);
      add_shards(where + "master of ", step.masters, all);
      add_shards(where + "exp_avg of ", step.exp_avg, all);
      add_shards(where + "exp_avg_sq of ", step.exp_avg_sq, all);
    }
  }
  return all;
}

std::vector<NamedNumbers> first_numbers_of(const std::vector<RankResult>& ranks) {
  std::vector<NamedNumbers> all;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].steps.empty()) continue;
    const StepResult& step = ranks[rank].steps.front();
    const std::string where = "rank " + std::to_string(rank) + ", step 0, ";
    all.push_back({where + "loss", {step.loss}});
    add_shards(where + "gradient of ", step.gradients, all);
  }
  return all;
}

Distance distance(const std::vector<NamedNumbers>& found, const std::vector<NamedNumbers>& wanted) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (found.size() != wanted.size()) {
    return {kInfinity,
            std::to_string(found.size()) + " tensors, not " + std::to_string(wanted.size())};
  }
  Distance largest{0.0, "all are equal"};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (found[i].name != wanted[i].name) return {kInfinity, found[i].name};
    const double apart = difference(found[i].numbers, wanted[i].numbers);
    if (apart > largest.relative) largest = {apart, wanted[i].name};
  }
  return largest;
}

}  // namespace lockstep::test
