// Rows of the parameter table (semantics, section 0: the master table).
#include "core/model/describe_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/errors.h"

namespace lockstep {
namespace {

// Every rank sees other tokens of the batch over dp and cp, so gradients are terms of a sum there.
ParameterSpec replicated(std::string name, std::vector<std::int64_t> shape) {
  ParameterSpec spec{.name = std::move(name), .full_shape = std::move(shape)};
  // Without sequence parallel all tp ranks see the same tokens and compute the same gradient.
  spec.gradient = {PlacementKind::kInvariant,
                   PlacementKind::kPartial,
                   PlacementKind::kPartial,
                   PlacementKind::kInvariant};
  return spec;
}

ParameterSpec norm_weight(std::string name, std::int64_t size) {
  ParameterSpec spec = replicated(std::move(name), {size});
  spec.init = InitKind::kNormWeight;
  return spec;
}

// A weight cut over tp along `dim`, whose size may be padded.
ParameterSpec cut_weight(std::string name,
                         std::vector<std::int64_t> shape,
                         const Cut& cut,
                         std::int64_t fan_in) {
  ParameterSpec spec = replicated(std::move(name), std::move(shape));
  spec.fan_in = fan_in;
  spec.cut = cut;
  spec.gradient[static_cast<std::size_t>(cut.axis)] = PlacementKind::kShard;
  return spec;
}

}  // namespace

std::int64_t padded_vocabulary(const Model& model, const Layout& layout) {
  const std::int64_t multiple = model.vocab_divisor * layout.tp;
  return (model.vocab_size + multiple - 1) / multiple * multiple;
}

ParameterTable describe_model(const Model& model, const Layout& layout) {
  const std::int64_t hidden = model.hidden_size;
  const std::int64_t ffn = model.intermediate_size;
  const auto cut = [&](int dim, std::int64_t size) {
    return Cut{
        .dim = dim, .axis = Axis::kTp, .num_parts = layout.tp, .part_size = size / layout.tp};
  };
  const auto vocabulary_weight = [&](std::string name, std::int64_t fan_in) {
    return cut_weight(std::move(name),
                      {model.vocab_size, hidden},
                      cut(0, padded_vocabulary(model, layout)),
                      fan_in);
  };
  ParameterTable table;
  // An embedding row is looked up, not summed: its fan-in is one.
  table.push_back(vocabulary_weight("embedding.word_embeddings.weight", 1));
  for (std::int64_t layer = 0; layer < model.num_hidden_layers; ++layer) {
    const std::string mlp = fmt::format("decoder.layers.{}.mlp.", layer);
    table.push_back(norm_weight(mlp + "linear_fc1.layer_norm_weight", hidden));
    table.push_back(cut_weight(mlp + "linear_fc1.weight", {ffn, hidden}, cut(0, ffn), hidden));
    table.push_back(cut_weight(mlp + "linear_fc2.weight", {hidden, ffn}, cut(1, ffn), ffn));
  }
  table.push_back(norm_weight("decoder.final_layernorm.weight", hidden));
  table.push_back(vocabulary_weight("output_layer.weight", hidden));
  return table;
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
