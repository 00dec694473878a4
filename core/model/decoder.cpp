// The decoder's forward pass; every backward comes from the tape.
#include "core/model/decoder.h"

#include <numeric>

namespace lockstep {
namespace {

// The part of the vocabulary that this rank holds of the embedding; the head is cut alike.
VocabularyShard own_vocabulary(const RankContext& context, const NamedParameters& parameters) {
  const ParameterSpec& spec = parameters.spec_of("embedding.word_embeddings.weight");
  const ShardSlice slice = slice_of(spec, context.mesh, context.rank);
  if (slice.runs.empty()) return {.first_row = spec.full_shape[0], .num_real = 0};
  return {.first_row = slice.runs[0].global, .num_real = slice.runs[0].count};
}

// A tied head reads the embedding.
Parameter output_weight(const NamedParameters& parameters) {
  const std::optional<Parameter> own = parameters.find("output_layer.weight");
  return own.has_value() ? *own : parameters.of("embedding.word_embeddings.weight");
}

RopeTables tables_of(const RankContext& context, const Case& c) {
  const Model& model = c.model;
  if (model.attention == Attention::kNone || model.position == Position::kNone) return {};
  std::vector<std::int64_t> positions(static_cast<std::size_t>(c.recipe.seq));
  std::iota(positions.begin(), positions.end(), 0);
  return rope_tables(context.ops, positions, model.head_dim, model.rope_theta);
}

DecoderLayer make_layer(const RankContext& context, const DecoderSpec& spec, std::int64_t layer) {
  const Model& model = spec.c.model;
  const std::string name = "decoder.layers." + std::to_string(layer);
  std::optional<SelfAttention> attention;
  if (model.attention == Attention::kCausal) {
    attention.emplace(context, spec.c, spec.heads, spec.parameters, name + ".self_attention");
  }
  return {.attention = std::move(attention),
          .mlp = MlpLayer(context, model, spec.parameters, name + ".mlp")};
}

std::optional<MappingSite> gather_output(const Model& model) {
  if (!model.gather_output) return std::nullopt;
  return MappingSite(MappingKind::kGatherLast, GroupKind::kTp, "output_layer");
}

}  // namespace

Decoder::Decoder(const RankContext& context, const DecoderSpec& spec)
    : embedding_(context,
                 "embedding.word_embeddings",
                 spec.parameters.of("embedding.word_embeddings.weight"),
                 own_vocabulary(context, spec.parameters)),
      rope_(tables_of(context, spec.c)),
      final_norm_(spec.c.model, spec.parameters, "decoder.final_layernorm."),
      output_layer_(context, "output_layer", {.weight = output_weight(spec.parameters)}),
      gather_output_(gather_output(spec.c.model)),
      cross_entropy_(context, spec.cross_entropy) {
  for (std::int64_t layer = 0; layer < spec.c.model.num_hidden_layers; ++layer) {
    layers_.push_back(make_layer(context, spec, layer));
  }
}

Variable Decoder::loss_sum(const RankContext& context,
                           Tape& tape,
                           const MicroBatch& batch,
                           std::vector<Tensor>& trace) const {
  Variable x = embedding_.forward(context, tape, batch.ids_T);
  trace.push_back(x.value);
  for (const DecoderLayer& layer : layers_) {
    if (layer.attention.has_value()) {
      x = add(tape, x, layer.attention->forward(context, tape, x, rope_, trace));
    }
    x = add(tape, x, layer.mlp.forward(context, tape, x, trace));
  }
  const Variable normed = final_norm_.forward(tape, x);
  trace.push_back(normed.value);
  Variable logits = output_layer_.forward(context, tape, normed);
  trace.push_back(logits.value);
  if (gather_output_.has_value()) logits = apply(context, tape, *gather_output_, logits);
  const Variable losses = cross_entropy_.forward(context, tape, logits, batch.labels_T);
  return weighted_sum(tape, losses, batch.weights_T);
}

}  // namespace lockstep
