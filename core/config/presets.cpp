// The presets: small sizes, uneven data, and group sizes that are not all powers of two.
#include "core/config/presets.h"

#include <fmt/format.h>

#include "core/base/errors.h"

namespace lockstep {
namespace {

using Values = std::vector<std::pair<std::string, Value>>;

Value integer(std::int64_t value) { return value; }
Value text(const char* value) { return std::string(value); }

// Later values replace earlier ones of the same field.
Values changed(Values values, const Values& changes) {
  for (const auto& change : changes) {
    bool found = false;
    for (auto& value : values) {
      if (value.first != change.first) continue;
      value.second = change.second;
      found = true;
    }
    if (!found) values.push_back(change);
  }
  return values;
}

Values common_values() {
  return {{"hidden_size", integer(32)},
          {"num_attention_heads", integer(8)},
          {"num_key_value_heads", integer(2)},
          {"head_dim", integer(8)},
          {"intermediate_size", integer(48)},
          {"num_hidden_layers", integer(2)},
          {"vocab_size", integer(90)},
          {"vocab_divisor", integer(8)},
          {"norm", text("rms")},
          {"norm_eps", 1e-6},
          {"dtype", text("f64")},
          {"mask", text("uneven")},
          {"global_batch", integer(12)},
          {"micro_batch", integer(1)},
          {"steps", integer(2)}};
}

Values dense_values() {
  return changed(common_values(),
                 {{"attention", text("causal")},
                  {"qk_norm", true},
                  {"tied", false},
                  {"mlp", text("gated")},
                  {"position", text("rope")},
                  {"optimizer", text("adamw")},
                  {"lr", 1e-3},
                  {"adam_eps", 1e-8},
                  {"weight_decay", 0.1},
                  {"clip", 0.1},
                  {"seq", integer(32)}});
}

Values linear_values() {
  return changed(common_values(),
                 {{"attention", text("none")},
                  {"qk_norm", false},
                  {"tied", false},
                  {"mlp", text("plain")},
                  {"position", text("none")},
                  {"optimizer", text("sgd")},
                  {"lr", 0.1},
                  {"weight_decay", 0.0},
                  {"clip", 0.0},
                  {"seq", integer(8)}});
}

Values moe_values() {
  return changed(dense_values(),
                 {{"num_experts", integer(8)},
                  {"num_experts_per_tok", integer(2)},
                  {"moe_intermediate_size", integer(16)},
                  {"shared_expert_intermediate_size", integer(16)},
                  {"seq", integer(16)},
                  {"global_batch", integer(24)}});
}

std::vector<Preset> all_presets() {
  return {
      {.name = "tiny-linear",
       .summary = "embedding, 2 x (RMSNorm, column- and row-parallel pair), head; sgd",
       .built = true,
       .values = linear_values()},
      {.name = "tiny-dense",
       .summary = "2 layers of grouped-query attention and gated MLP; adamw with clipping",
       .built = true,
       .values = dense_values()},
      {.name = "tiny-context",
       .summary = "tiny-dense with sequences of 64",
       .built = true,
       .values = changed(dense_values(), {{"seq", integer(64)}, {"global_batch", integer(6)}})},
      {.name = "tiny-pipeline",
       .summary = "tiny-dense with 8 layers",
       .built = true,
       .values =
           changed(dense_values(), {{"num_hidden_layers", integer(8)}, {"seq", integer(16)}})},
      {.name = "tiny-moe",
       .summary = "one dense and one mixture-of-experts layer of 8 experts, top 2",
       .built = false,
       .values = moe_values()},
  };
}

}  // namespace

std::span<const Preset> presets() {
  static const std::vector<Preset> table = all_presets();
  return table;
}

Case preset_case(std::string_view name) {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) {
    names.push_back(preset.name);
    if (preset.name != name) continue;
    if (!preset.built) throw UsageError(fmt::format("preset: {} is not built yet", name));
    Case c = default_case();
    c.model.preset = preset.name;
    for (const auto& [field_name, value] : preset.values) {
      const Field* field = find_field(field_name);
      LOCKSTEP_CHECK(field != nullptr, "no field is named " + field_name);
      field->set(c, checked_value(*field, value));
    }
    return c;
  }
  throw UsageError(fmt::format("preset: expected one of {}, got '{}'{}",
                               fmt::join(names, ", "),
                               name,
                               did_you_mean(name, names)));
}

}  // namespace lockstep
