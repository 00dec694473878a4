// What a step reports, read from the device as shards of full tensors.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/parallel/placement.h"
#include "core/parallel/rank_context.h"
#include "core/snapshot/shard.h"

namespace lockstep {

// Reads a rank's tensors into shards whose frames are made once.
class StepSnapshot {
 public:
  StepSnapshot(const RankContext& context,
               const ParameterTable& parameters,
               const ActivationTable& activations);

  // One tensor a row of the table, in its order; none at all gives none.
  std::vector<Shard> of_parameters(std::span<const Tensor> tensors, std::string_view label) const;
  std::vector<Shard> of_activations(std::span<const Tensor> tensors) const;

 private:
  OpContext ops_;
  std::vector<Shard> parameters_;  // without values
  std::vector<Shard> activations_;
};

}  // namespace lockstep
