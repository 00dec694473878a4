// The decoder's forward pass; every backward comes from the tape.
#include "core/model/decoder.h"

#include "core/model/describe_model.h"

namespace lockstep {
namespace {

Parameter named(const ParameterTable& table,
                const Parameters& parameters,
                const std::string& name) {
  return parameters[find_parameter(table, name)];
}

// The part of the vocabulary that this rank holds of a vocabulary-parallel parameter.
VocabularyShard vocabulary_shard(const RankContext& context,
                                 const ParameterTable& table,
                                 const std::string& name) {
  const ParameterSpec& spec = table[static_cast<std::size_t>(find_parameter(table, name).value)];
  const ShardSlice slice = slice_of(spec, context.mesh, context.rank);
  if (slice.runs.empty()) return {.first_row = spec.full_shape[0], .num_real = 0};
  return {.first_row = slice.runs[0].global, .num_real = slice.runs[0].count};
}

}  // namespace

MlpLayer::MlpLayer(const Model& model,
                   const ParameterTable& table,
                   const Parameters& parameters,
                   const std::string& name)
    : norm_weight_(named(table, parameters, name + ".linear_fc1.layer_norm_weight")),
      norm_eps_(model.norm_eps),
      fc1_(name + ".linear_fc1", named(table, parameters, name + ".linear_fc1.weight")),
      fc2_(name + ".linear_fc2", named(table, parameters, name + ".linear_fc2.weight")) {}

Variable MlpLayer::forward(const RankContext& context, Tape& tape, const Variable& x) const {
  const Variable normed = rms_norm(tape, x, norm_weight_, norm_eps_);
  const Variable hidden = silu(tape, fc1_.forward(context, tape, normed));
  return add(tape, x, fc2_.forward(context, tape, hidden));
}

Decoder::Decoder(const RankContext& context,
                 const Model& model,
                 const ParameterTable& table,
                 const Parameters& parameters)
    : embedding_("embedding.word_embeddings",
                 named(table, parameters, "embedding.word_embeddings.weight"),
                 vocabulary_shard(context, table, "embedding.word_embeddings.weight")),
      final_norm_weight_(named(table, parameters, "decoder.final_layernorm.weight")),
      norm_eps_(model.norm_eps),
      output_layer_("output_layer", named(table, parameters, "output_layer.weight")),
      cross_entropy_("cross_entropy", vocabulary_shard(context, table, "output_layer.weight")) {
  for (std::int64_t layer = 0; layer < model.num_hidden_layers; ++layer) {
    layers_.emplace_back(
        model, table, parameters, "decoder.layers." + std::to_string(layer) + ".mlp");
  }
}

Variable Decoder::loss_sum(const RankContext& context, Tape& tape, const MicroBatch& batch) const {
  Variable x = embedding_.forward(context, tape, batch.ids_T);
  for (const MlpLayer& layer : layers_) x = layer.forward(context, tape, x);
  const Variable normed = rms_norm(tape, x, final_norm_weight_, norm_eps_);
  const Variable logits = output_layer_.forward(context, tape, normed);
  const Variable losses = cross_entropy_.forward(context, tape, logits, batch.labels_T);
  return weighted_sum(tape, losses, batch.weights_T);
}

}  // namespace lockstep
