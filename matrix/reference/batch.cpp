// Draws tokens, and weighs them by a recipe's loss normalisation.
#include "matrix/reference/batch.h"

#include <algorithm>

#include "core/base/errors.h"
#include "core/config/data.h"

namespace lockstep::matrix {
namespace {

// token:       objective = (sum of target losses) / max(all targets, 1)
// micro_batch: objective = mean over global micro-batches of (sum of losses) / max(targets, 1)
double weight_of_target(LossNorm norm, const Batch& batch, std::size_t micro_batch) {
  std::int64_t all_targets = 0;
  for (const std::int64_t targets : batch.targets_G) all_targets += targets;
  const std::int64_t own = batch.targets_G[micro_batch];
  const auto num_micro = static_cast<std::int64_t>(batch.targets_G.size());
  switch (norm) {
    case LossNorm::kToken:
      return 1.0 / static_cast<double>(std::max<std::int64_t>(all_targets, 1));
    case LossNorm::kMicroBatch:
      return 1.0 / static_cast<double>(num_micro * std::max<std::int64_t>(own, 1));
  }
  throw InternalError("unknown loss normalisation");
}

// Places of a sample's tokens in its documents.
void add_places(const Case& c, std::int64_t step, std::int64_t sample, Batch& batch) {
  std::vector<std::int64_t> starts = document_starts(c, step, sample);
  starts.push_back(c.recipe.seq);
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    for (std::int64_t s = starts[i]; s < starts[i + 1]; ++s) {
      batch.places_T.push_back(s - starts[i]);
    }
  }
}

}  // namespace

void weigh_targets(LossNorm norm, Batch& batch) {
  const auto micro_batch_of = [&](std::size_t t) {
    return t / static_cast<std::size_t>(batch.tokens_a_micro_batch);
  };
  const std::size_t num_tokens = batch.is_target_T.size();
  batch.targets_G.assign(micro_batch_of(num_tokens), 0);
  for (std::size_t t = 0; t < num_tokens; ++t) {
    batch.targets_G[micro_batch_of(t)] += batch.is_target_T[t] ? 1 : 0;
  }
  std::vector<double> weight_G;
  for (std::size_t g = 0; g < batch.targets_G.size(); ++g) {
    weight_G.push_back(weight_of_target(norm, batch, g));
  }
  batch.weight_T.clear();
  for (std::size_t t = 0; t < num_tokens; ++t) {
    batch.weight_T.push_back(batch.is_target_T[t] ? weight_G[micro_batch_of(t)] : 0.0);
  }
}

Batch make_batch(const Case& c, std::int64_t step) {
  const Recipe& recipe = c.recipe;
  Batch batch;
  batch.tokens_a_micro_batch = recipe.micro_batch * recipe.seq;
  batch.first_token = first_token_of(c, step, 0);
  for (std::int64_t sample = 0; sample < recipe.global_batch; ++sample) {
    for (std::int64_t position = 0; position < recipe.seq; ++position) {
      batch.inputs_T.push_back(token(c, step, sample, position));
      batch.labels_T.push_back(token(c, step, sample, position + 1));
      batch.is_target_T.push_back(is_target(c, step, sample, position));
    }
    add_places(c, step, sample, batch);
  }
  weigh_targets(recipe.loss_norm, batch);
  return batch;
}

}  // namespace lockstep::matrix
