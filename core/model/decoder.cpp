// The decoder's forward pass; every backward comes from the tape.
#include "core/model/decoder.h"

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

DecoderLayer make_layer(const RankContext& context, const DecoderSpec& spec, std::int64_t layer) {
  const Model& model = spec.c.model;
  const std::string name = "decoder.layers." + std::to_string(layer);
  std::optional<SelfAttention> attention;
  if (model.attention == Attention::kCausal) {
    attention.emplace(context, spec.c, spec.attention, spec.parameters, name + ".self_attention");
  }
  const auto dropout_after = [&](const char* module) {
    return ResidualDropout(context, spec.attention.dropout, name + module, model.hidden_size);
  };
  return {.attention = std::move(attention),
          .attention_dropout = dropout_after(".self_attention.linear_proj"),
          .mlp = MlpLayer(context, model, spec.parameters, name + ".mlp"),
          .mlp_dropout = dropout_after(".mlp.linear_fc2")};
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
      embedding_dropout_(context, spec.attention.dropout, "embedding", spec.c.model.hidden_size),
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
  const SequenceTables& sequence = batch.sequence;
  const Tensor& rows = sequence.residual_rows;
  Variable x = embedding_.forward(context, tape, batch.ids_T);
  x = embedding_dropout_.forward(tape, x, rows);
  trace.push_back(x.value);
  for (const DecoderLayer& layer : layers_) {
    if (layer.attention.has_value()) {
      const Variable out = layer.attention->forward(context, tape, x, sequence, trace);
      x = add(tape, x, layer.attention_dropout.forward(tape, out, rows));
    }
    const Variable out = layer.mlp.forward(context, tape, x, trace);
    x = add(tape, x, layer.mlp_dropout.forward(tape, out, rows));
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
