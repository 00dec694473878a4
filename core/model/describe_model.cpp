// Rows of the parameter table (semantics, section 0: the master table).
#include "core/model/describe_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/errors.h"

namespace lockstep {
namespace {

// Appends the rows of one model to its table.
class TableBuilder {
 public:
  TableBuilder(const Model& model, const Layout& layout) : model_(model), layout_(layout) {}

  ParameterTable build() && {
    const std::int64_t hidden = model_.hidden_size;
    // An embedding row is looked up, not summed: its fan-in is one.
    vocabulary_weight("embedding.word_embeddings.weight", 1);
    for (std::int64_t layer = 0; layer < model_.num_hidden_layers; ++layer) {
      const std::string name = fmt::format("decoder.layers.{}", layer);
      if (model_.attention == Attention::kCausal) attention(name + ".self_attention");
      mlp(name + ".mlp");
    }
    norm("decoder.final_layernorm.", hidden);
    if (!model_.tied) vocabulary_weight("output_layer.weight", hidden);
    return std::move(table_);
  }

 private:
  void attention(const std::string& name) {
    const std::int64_t hidden = model_.hidden_size;
    const std::int64_t query_width = model_.num_attention_heads * model_.head_dim;
    const std::int64_t qkv_width = query_width + 2 * model_.num_key_value_heads * model_.head_dim;
    norm(name + ".linear_qkv.layer_norm_", hidden);
    column_parallel(name + ".linear_qkv", {qkv_width, hidden}, 1);
    if (model_.qk_norm) {
      head_norm(name + ".q_layernorm.");
      head_norm(name + ".k_layernorm.");
    }
    if (model_.attention_sink) sink(name + ".core_attention.softmax_offset");
    row_parallel(name + ".linear_proj", {hidden, query_width});
  }

  void mlp(const std::string& name) {
    const std::int64_t hidden = model_.hidden_size;
    const std::int64_t ffn = model_.intermediate_size;
    const std::int64_t blocks = model_.mlp == Mlp::kGated ? 2 : 1;
    norm(name + ".linear_fc1.layer_norm_", hidden);
    column_parallel(name + ".linear_fc1", {blocks * ffn, hidden}, blocks);
    row_parallel(name + ".linear_fc2", {hidden, ffn});
  }

  // Without sequence parallelism all tp ranks see the same tokens and compute the same gradient;
  // with it each sees its own tokens, and the gradients are terms of a sum.
  PlacementKind replicated_over_tp() const {
    return layout_.sp ? PlacementKind::kPartial : PlacementKind::kInvariant;
  }

  // Every rank sees other tokens of the batch over dp and cp.
  void add(ParameterSpec spec, PlacementKind over_tp) {
    spec.gradient = {
        over_tp, PlacementKind::kPartial, PlacementKind::kPartial, PlacementKind::kInvariant};
    table_.push_back(std::move(spec));
  }

  // The weight of a norm, and the bias of a layer norm. `name` is what these are appended to.
  void norm_of(const std::string& name, std::int64_t size, PlacementKind over_tp) {
    add({.name = name + "weight", .full_shape = {size}, .init = InitKind::kNormWeight}, over_tp);
    if (model_.norm == Norm::kRms) return;
    add({.name = name + "bias", .full_shape = {size}, .init = InitKind::kBias}, over_tp);
  }

  void norm(const std::string& name, std::int64_t size) {
    norm_of(name, size, replicated_over_tp());
  }

  // Every tp rank has heads of its own: terms of a sum, with or without sequence parallelism.
  void head_norm(const std::string& name) {
    norm_of(name, model_.head_dim, PlacementKind::kPartial);
  }

  // A logit a head.
  void sink(const std::string& name) {
    const std::int64_t heads = model_.num_attention_heads;
    add({.name = name, .full_shape = {heads}, .init = InitKind::kBias, .cut = cut(0, heads, 1)},
        PlacementKind::kShard);
  }

  Cut cut(int dim, std::int64_t size, std::int64_t num_blocks) const {
    return {.dim = dim,
            .axis = Axis::kTp,
            .num_parts = layout_.tp,
            .part_size = size / num_blocks / layout_.tp,
            .num_blocks = num_blocks};
  }

  void column_parallel(const std::string& name,
                       std::vector<std::int64_t> shape,
                       std::int64_t num_blocks) {
    const std::int64_t rows = shape[0];
    const std::int64_t fan_in = shape[1];
    add({.name = name + ".weight",
         .full_shape = std::move(shape),
         .fan_in = fan_in,
         .cut = cut(0, rows, num_blocks)},
        PlacementKind::kShard);
    if (!model_.bias) return;
    add({.name = name + ".bias",
         .full_shape = {rows},
         .init = InitKind::kBias,
         .cut = cut(0, rows, num_blocks)},
        PlacementKind::kShard);
  }

  // The bias is added once, to the sum over tp.
  void row_parallel(const std::string& name, std::vector<std::int64_t> shape) {
    const std::int64_t rows = shape[0];
    const std::int64_t columns = shape[1];
    add({.name = name + ".weight",
         .full_shape = std::move(shape),
         .fan_in = columns,
         .cut = cut(1, columns, 1)},
        PlacementKind::kShard);
    if (!model_.bias) return;
    add({.name = name + ".bias", .full_shape = {rows}, .init = InitKind::kBias},
        replicated_over_tp());
  }

  void vocabulary_weight(const std::string& name, std::int64_t fan_in) {
    add({.name = name,
         .full_shape = {model_.vocab_size, model_.hidden_size},
         .fan_in = fan_in,
         .cut = cut(0, padded_vocabulary(model_, layout_), 1)},
        PlacementKind::kShard);
  }

  const Model& model_;
  const Layout& layout_;
  ParameterTable table_;
};

}  // namespace

std::int64_t padded_vocabulary(const Model& model, const Layout& layout) {
  const std::int64_t multiple = model.vocab_divisor * layout.tp;
  return (model.vocab_size + multiple - 1) / multiple * multiple;
}

ParameterTable describe_model(const Model& model, const Layout& layout) {
  return TableBuilder(model, layout).build();
}

ParameterId find_parameter(const ParameterTable& table, std::string_view name) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].name == name) return {static_cast<int>(i)};
  }
  throw InternalError("the model has no parameter '" + std::string(name) + "'");
}

std::string to_text(const ParameterTable& table) {
  std::string text;
  for (const ParameterSpec& spec : table) {
    text += fmt::format("{} [{}]", spec.name, fmt::join(spec.full_shape, ", "));
    if (spec.cut.has_value()) text += " " + to_text(*spec.cut);
    text += "; gradient";
    for (const Axis axis : {Axis::kTp, Axis::kCp, Axis::kDp, Axis::kPp}) {
      text += fmt::format(" {} {}", name_of(axis), name_of(spec.gradient_on(axis)));
    }
    text += "\n";
  }
  return text;
}

}  // namespace lockstep
