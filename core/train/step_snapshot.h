// What a step reports, read from the device as shards of full tensors.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "core/parallel/placement.h"
#include "core/parallel/rank_context.h"
#include "core/snapshot/shard.h"

namespace lockstep {

// Which tensor of each parameter.
enum class SnapshotKind { kGradient, kClippedGradient, kParameter, kMaster, kExpAvg, kExpAvgSq };
inline constexpr int kNumSnapshotKinds = 6;

// Reads a rank's tensors into shards whose labels are made once, as frames of parameters are.
class StepSnapshot {
 public:
  // The context outlives it.
  StepSnapshot(const RankContext& context,
               const ParameterTable& parameters,
               const ActivationTable& activations);

  // One tensor a row of the table, in its order; none at all gives none.
  std::vector<Shard> of_parameters(SnapshotKind kind, std::span<const Tensor> tensors) const;
  // Of a micro-batch with these rows.
  std::vector<Shard> of_activations(std::span<const Tensor> tensors,
                                    const ActivationRowRuns& rows) const;

 private:
  using Labels = std::vector<std::string>;  // by the table: snapshot.exp_avg.output_layer.weight

  const RankContext& context_;
  std::vector<Shard> parameters_;  // without values
  ActivationTable activations_;
  std::array<Labels, kNumSnapshotKinds> parameter_labels_;  // by SnapshotKind
  Labels activation_labels_;
};

}  // namespace lockstep
