// The fixed list of traced activations: where each lies, in execution order.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/model/describe_model.h"

namespace lockstep {
namespace {

class ActivationBuilder {
 public:
  explicit ActivationBuilder(const Case& c) : c_(c), tokens_(c.recipe.seq * c.recipe.micro_batch) {}

  ActivationTable build() && {
    const Model& model = c_.model;
    residual("embedding");
    for (std::int64_t layer = 0; layer < model.num_hidden_layers; ++layer) {
      const std::string name = fmt::format("decoder.layers.{}.", layer);
      if (model.attention == Attention::kCausal) {
        const std::int64_t query_width = model.num_attention_heads * model.head_dim;
        const std::int64_t kv_width = 2 * model.num_key_value_heads * model.head_dim;
        within_region(name + "self_attention.linear_qkv", query_width + kv_width);
        within_region(name + "self_attention.core_attention", query_width);
        residual(name + "self_attention.linear_proj");
      }
      within_region(name + "mlp.activation_func", model.intermediate_size);
      residual(name + "mlp.linear_fc2");
    }
    residual("decoder.final_layernorm");
    const std::int64_t padded = padded_vocabulary(model, c_.layout);
    over_tp("output_layer", model.vocab_size, padded);
    return std::move(table_);
  }

 private:
  void residual(std::string name) {
    table_.push_back({.name = std::move(name),
                      .full_shape = {tokens_, c_.model.hidden_size},
                      .rows = ActivationRows::kResidual});
  }

  void within_region(std::string name, std::int64_t width) {
    over_tp(std::move(name), width, width);
  }

  void over_tp(std::string name, std::int64_t width, std::int64_t padded_width) {
    const std::int64_t tp = c_.layout.tp;
    table_.push_back(
        {.name = std::move(name),
         .full_shape = {tokens_, width},
         .rows = ActivationRows::kWithinRegion,
         .columns =
             Cut{.dim = 1, .axis = Axis::kTp, .num_parts = tp, .part_size = padded_width / tp}});
  }

  const Case& c_;
  std::int64_t tokens_;
  ActivationTable table_;
};

}  // namespace

ActivationTable describe_activations(const Case& c) { return ActivationBuilder(c).build(); }

std::string to_text(const ActivationTable& table) {
  std::string text;
  for (const ActivationSpec& spec : table) {
    text += fmt::format("trace {} [{}]", spec.name, fmt::join(spec.full_shape, ", "));
    text += fmt::format(", {}", name_of(spec.rows));
    if (spec.columns.has_value()) text += ", " + to_text(*spec.columns);
    text += "\n";
  }
  return text;
}

}  // namespace lockstep
