// Results as CBOR, by the JSON library that is here anyway; numbers travel as they lie in memory,
// for a decimal text would be slow and would have no word for NaN.
#include "matrix/crew/rank_result_bytes.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/base/errors.h"

namespace lockstep::matrix {
namespace {

using Json = nlohmann::json;

template <typename Number>
Json numbers(const std::vector<Number>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(Number));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return Json::binary(std::move(bytes));
}

template <typename Number>
std::vector<Number> numbers_from(const Json& json) {
  const std::vector<std::uint8_t>& bytes = json.get_binary();
  if (bytes.size() % sizeof(Number) != 0) throw UsageError("a rank's result has half a number");
  std::vector<Number> values(bytes.size() / sizeof(Number));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Json number(double value) { return numbers<double>({value}); }

double number_from(const Json& json) { return numbers_from<double>(json).at(0); }

Json slice_to_json(const ShardSlice& slice) {
  std::vector<std::int64_t> runs;
  for (const ShardRun& run : slice.runs) {
    runs.insert(runs.end(), {run.local, run.global, run.count});
  }
  return Json::array({slice.dim, numbers(runs)});
}

ShardSlice slice_from(const Json& json) {
  ShardSlice slice{.dim = json.at(0).get<int>()};
  const std::vector<std::int64_t> runs = numbers_from<std::int64_t>(json.at(1));
  for (std::size_t i = 0; i + 2 < runs.size(); i += 3) {
    slice.runs.push_back({.local = runs[i], .global = runs[i + 1], .count = runs[i + 2]});
  }
  return slice;
}

Json shard_to_json(const Shard& shard) {
  Json slices = Json::array();
  for (const ShardSlice& slice : shard.slices) slices.push_back(slice_to_json(slice));
  return Json::array({shard.name,
                      numbers(shard.full_shape),
                      numbers(shard.local_shape),
                      std::move(slices),
                      numbers(shard.values)});
}

Shard shard_from(const Json& json) {
  Shard shard{.name = json.at(0).get<std::string>(),
              .full_shape = numbers_from<std::int64_t>(json.at(1)),
              .local_shape = numbers_from<std::int64_t>(json.at(2)),
              .values = numbers_from<double>(json.at(4))};
  for (const Json& slice : json.at(3)) shard.slices.push_back(slice_from(slice));
  return shard;
}

Json shards_to_json(const std::vector<Shard>& shards) {
  Json json = Json::array();
  for (const Shard& shard : shards) json.push_back(shard_to_json(shard));
  return json;
}

std::vector<Shard> shards_from(const Json& json) {
  std::vector<Shard> shards;
  for (const Json& shard : json) shards.push_back(shard_from(shard));
  return shards;
}

// The groups of tensors of a step, in the order in which they travel.
template <typename Step>
auto tensors_of(Step& step) {
  return std::vector{&step.gradients,
                     &step.clipped_gradients,
                     &step.parameters,
                     &step.masters,
                     &step.exp_avg,
                     &step.exp_avg_sq};
}

Json step_to_json(const StepResult& step) {
  Json losses = Json::array();
  for (const MicroBatchLoss& loss : step.losses) {
    losses.push_back(Json::array({loss.global_micro_batch,
                                  number(loss.loss_sum),
                                  loss.targets,
                                  shards_to_json(loss.activations)}));
  }
  Json tensors = Json::array();
  for (const std::vector<Shard>* shards : tensors_of(step)) {
    tensors.push_back(shards_to_json(*shards));
  }
  return Json::array(
      {std::move(losses),
       numbers<double>({step.loss, step.reported_loss, step.gradient_norm, step.parameter_norm}),
       numbers<std::int64_t>({step.reported_targets, step.gradient_zeros}),
       std::move(tensors)});
}

StepResult step_from(const Json& json) {
  StepResult step;
  for (const Json& loss : json.at(0)) {
    step.losses.push_back({.global_micro_batch = loss.at(0).get<std::int64_t>(),
                           .loss_sum = number_from(loss.at(1)),
                           .targets = loss.at(2).get<std::int64_t>(),
                           .activations = shards_from(loss.at(3))});
  }
  const std::vector<double> scalars = numbers_from<double>(json.at(1));
  step.loss = scalars.at(0);
  step.reported_loss = scalars.at(1);
  step.gradient_norm = scalars.at(2);
  step.parameter_norm = scalars.at(3);
  const std::vector<std::int64_t> counts = numbers_from<std::int64_t>(json.at(2));
  step.reported_targets = counts.at(0);
  step.gradient_zeros = counts.at(1);
  std::size_t place = 0;
  for (std::vector<Shard>* shards : tensors_of(step)) *shards = shards_from(json.at(3).at(place++));
  return step;
}

}  // namespace

std::string to_bytes(const RankResult& result) {
  Json steps = Json::array();
  for (const StepResult& step : result.steps) steps.push_back(step_to_json(step));
  Json probes = Json::array();
  for (const ProbeResult& probe : result.probes) {
    probes.push_back(Json::array({probe.label, number(probe.value)}));
  }
  std::string bytes;
  Json::to_cbor(Json::array({std::move(steps), std::move(probes)}), bytes);
  return bytes;
}

RankResult rank_result_from_bytes(std::string_view bytes) {
  try {
    const Json json = Json::from_cbor(bytes);
    RankResult result;
    for (const Json& step : json.at(0)) result.steps.push_back(step_from(step));
    for (const Json& probe : json.at(1)) {
      result.probes.push_back(
          {.label = probe.at(0).get<std::string>(), .value = number_from(probe.at(1))});
    }
    return result;
  } catch (const Json::exception& error) {
    throw UsageError(std::string("not a rank's result: ") + error.what());
  } catch (const std::out_of_range& error) {
    throw UsageError(std::string("not a rank's result: ") + error.what());
  }
}

}  // namespace lockstep::matrix
