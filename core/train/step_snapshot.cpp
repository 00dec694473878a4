// Reading tensors into shards.
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

std::vector<Shard> filled(const OpContext& ops,
                          const std::vector<Shard>& frames,
                          std::span<const Tensor> tensors,
                          std::string_view label) {
  LOCKSTEP_CHECK(
      tensors.size() == frames.size(),
      std::to_string(tensors.size()) + " tensors for a table of " + std::to_string(frames.size()));
  std::vector<Shard> shards = frames;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    shards[i].values = read_reals(ops, tensors[i], label);
  }
  return shards;
}

}  // namespace

StepSnapshot::StepSnapshot(const RankContext& context,
                           const ParameterTable& parameters,
                           const ActivationTable& activations)
    : ops_(context.ops),
      parameters_(frames_of(context, parameters)),
      activations_(frames_of(context, activations)) {}

std::vector<Shard> StepSnapshot::of_parameters(std::span<const Tensor> tensors,
                                               std::string_view label) const {
  if (tensors.empty()) return {};
  return filled(ops_, parameters_, tensors, label);
}

std::vector<Shard> StepSnapshot::of_activations(std::span<const Tensor> tensors) const {
  return filled(ops_, activations_, tensors, "snapshot.activation");
}

}  // namespace lockstep
