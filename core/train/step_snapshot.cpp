// Frames, labels, and reading tensors into shards.
#include "core/train/step_snapshot.h"

#include "core/base/errors.h"
#include "core/ops/host.h"

namespace lockstep {
namespace {

template <typename Table>
std::vector<Shard> frames_of(const RankContext& context, const Table& table) {
  std::vector<Shard> frames;
  for (const auto& spec : table) frames.push_back(shard_of(spec, context.mesh, context.rank));
  return frames;
}

std::string_view name_of(SnapshotKind kind) {
  switch (kind) {
    case SnapshotKind::kGradient:
      return "gradient";
    case SnapshotKind::kClippedGradient:
      return "clipped_gradient";
    case SnapshotKind::kParameter:
      return "parameter";
    case SnapshotKind::kMaster:
      return "master";
    case SnapshotKind::kExpAvg:
      return "exp_avg";
    case SnapshotKind::kExpAvgSq:
      return "exp_avg_sq";
  }
  throw InternalError("unknown kind of snapshot");
}

std::vector<std::string> labels_of(std::string_view what, const std::vector<Shard>& frames) {
  const std::string prefix = "snapshot." + std::string(what) + ".";
  std::vector<std::string> labels;
  for (const Shard& frame : frames) labels.push_back(prefix + frame.name);
  return labels;
}

std::vector<Shard> filled(const OpContext& ops,
                          const std::vector<Shard>& frames,
                          std::span<const Tensor> tensors,
                          const std::vector<std::string>& labels) {
  LOCKSTEP_CHECK(
      tensors.size() == frames.size(),
      std::to_string(tensors.size()) + " tensors for a table of " + std::to_string(frames.size()));
  std::vector<Shard> shards = frames;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    shards[i].values = read_reals(ops, tensors[i], labels[i]);
  }
  return shards;
}

}  // namespace

StepSnapshot::StepSnapshot(const RankContext& context,
                           const ParameterTable& parameters,
                           const ActivationTable& activations)
    : ops_(context.ops),
      parameters_(frames_of(context, parameters)),
      activations_(frames_of(context, activations)),
      activation_labels_(labels_of("activation", activations_)) {
  for (std::size_t i = 0; i < parameter_labels_.size(); ++i) {
    parameter_labels_[i] = labels_of(name_of(static_cast<SnapshotKind>(i)), parameters_);
  }
}

std::vector<Shard> StepSnapshot::of_parameters(SnapshotKind kind,
                                               std::span<const Tensor> tensors) const {
  if (tensors.empty()) return {};
  return filled(ops_, parameters_, tensors, parameter_labels_.at(static_cast<std::size_t>(kind)));
}

std::vector<Shard> StepSnapshot::of_activations(std::span<const Tensor> tensors) const {
  return filled(ops_, activations_, tensors, activation_labels_);
}

}  // namespace lockstep
