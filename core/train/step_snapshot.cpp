// Frames, labels, and reading tensors into shards.
#include "core/train/step_snapshot.h"

#include <utility>

#include "core/base/errors.h"
#include "core/ops/host.h"

namespace lockstep {
namespace {

std::vector<Shard> frames_of(const RankContext& context, const ParameterTable& table) {
  std::vector<Shard> frames;
  for (const ParameterSpec& spec : table) {
    frames.push_back(shard_of(spec, context.mesh, context.rank));
  }
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

template <typename Row>
std::vector<std::string> labels_of(std::string_view what, const std::vector<Row>& table) {
  const std::string prefix = "snapshot." + std::string(what) + ".";
  std::vector<std::string> labels;
  for (const Row& row : table) labels.push_back(prefix + row.name);
  return labels;
}

std::vector<Shard> filled(const OpContext& ops,
                          std::vector<Shard> shards,
                          std::span<const Tensor> tensors,
                          const std::vector<std::string>& labels) {
  LOCKSTEP_CHECK(
      tensors.size() == shards.size(),
      std::to_string(tensors.size()) + " tensors for a table of " + std::to_string(shards.size()));
  for (std::size_t i = 0; i < shards.size(); ++i) {
    shards[i].values = read_reals(ops, tensors[i], labels[i]);
  }
  return shards;
}

}  // namespace

StepSnapshot::StepSnapshot(const RankContext& context,
                           const ParameterTable& parameters,
                           const ActivationTable& activations)
    : context_(context),
      parameters_(frames_of(context, parameters)),
      activations_(activations),
      activation_labels_(labels_of("activation", activations)) {
  for (std::size_t i = 0; i < parameter_labels_.size(); ++i) {
    parameter_labels_[i] = labels_of(name_of(static_cast<SnapshotKind>(i)), parameters);
  }
}

std::vector<Shard> StepSnapshot::of_parameters(SnapshotKind kind,
                                               std::span<const Tensor> tensors) const {
  if (tensors.empty()) return {};
  const Labels& labels = parameter_labels_.at(static_cast<std::size_t>(kind));
  return filled(context_.ops, parameters_, tensors, labels);
}

std::vector<Shard> StepSnapshot::of_activations(std::span<const Tensor> tensors,
                                                const ActivationRowRuns& rows) const {
  std::vector<Shard> frames;
  frames.reserve(activations_.size());
  for (const ActivationSpec& spec : activations_) {
    frames.push_back(shard_of(spec, rows, context_.mesh, context_.rank));
  }
  return filled(context_.ops, std::move(frames), tensors, activation_labels_);
}

}  // namespace lockstep
