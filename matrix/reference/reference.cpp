// Refuses what the reference does not model, then trains step by step.
#include "matrix/reference/reference.h"

#include <utility>

#include "core/base/errors.h"
#include "matrix/reference/decoder.h"
#include "matrix/reference/optimizer.h"

namespace lockstep::matrix {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw UsageError(std::string("the reference has no ") + what + " yet");
}

// Silence here would let a case be compared with another model.
void check_supported(const Case& c) {
  require(c.model.attention == Attention::kNone, "attention");
  require(c.model.norm == Norm::kRms, "norm but rms");
  require(c.model.mlp == Mlp::kPlain, "gated mlp");
  require(!c.model.bias, "bias");
  require(!c.model.tied, "tied embeddings");
  require(c.model.num_experts == 0, "experts");
  require(c.model.mtp == 0, "multi-token prediction");
  require(c.recipe.optimizer == Optimizer::kSgd, "optimizer but sgd");
  require(c.recipe.weight_decay == 0.0, "weight decay for sgd");
  require(c.recipe.clip == 0.0, "gradient clipping");
  require(c.recipe.dropout == 0.0, "dropout");
  require(c.recipe.label_smoothing == 0.0, "label smoothing");
  require(!c.recipe.packing, "packing");
  require(!c.recipe.forward_only, "run without backward");
}

}  // namespace

sim::Oracle compute_reference(const Case& c) {
  check_supported(c);
  Tensors parameters = initial_parameters(c);
  sim::Oracle oracle;
  for (std::int64_t step = 0; step < c.recipe.steps; ++step) {
    BatchResult batch = run_batch(c, step, parameters);
    update(c.recipe, batch.gradients, parameters);
    oracle.steps.push_back({.micro_batch_losses = std::move(batch.micro_batch_losses),
                            .targets = std::move(batch.targets),
                            .loss = batch.objective,
                            .gradients = std::move(batch.gradients),
                            .parameters = parameters});
  }
  return oracle;
}

}  // namespace lockstep::matrix
