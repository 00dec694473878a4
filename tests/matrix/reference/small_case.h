// Cases small enough for finite differences, with uneven sizes.
#pragma once

#include "core/config/presets.h"

namespace lockstep::test {

inline Case small_case(Mask mask, LossNorm norm) {
  Case c = preset_case("tiny-linear");
  c.model.hidden_size = 6;
  c.model.intermediate_size = 5;
  c.model.vocab_size = 11;
  c.recipe.seq = 4;
  c.recipe.global_batch = 6;
  c.recipe.micro_batch = 2;
  c.recipe.mask = mask;
  c.recipe.loss_norm = norm;
  return c;
}

// Attention and a gated MLP, as tiny-dense has them.
inline Case small_dense_case() {
  Case c = preset_case("tiny-dense");
  c.model.hidden_size = 6;
  c.model.intermediate_size = 5;
  c.model.vocab_size = 11;
  c.model.num_attention_heads = 4;
  c.model.num_key_value_heads = 2;
  c.model.head_dim = 4;
  c.recipe.seq = 5;
  c.recipe.global_batch = 4;
  c.recipe.micro_batch = 2;
  return c;
}

// Samples of several documents each, the last of some cut short.
inline void pack(Case& c) {
  c.recipe.packing = true;
  c.recipe.micro_batch = 1;
  c.recipe.seq = 19;
}

// All that attention and dropout can be told at once.
inline void take_everything(Case& c) {
  pack(c);
  c.model.sliding_window = 3;
  c.model.attention_sink = true;
  c.model.bias = true;
  c.model.norm = Norm::kLayer;
  c.recipe.dropout = 0.25;
}

// The switches of the dense transformer, one variant each and some together.
struct Variant {
  const char* name;
  void (*edit)(Case&);
};

inline constexpr Variant kVariants[] = {
    {"as tiny-dense", [](Case&) {}},
    {"without q/k norms", [](Case& c) { c.model.qk_norm = false; }},
    {"bias", [](Case& c) { c.model.bias = true; }},
    {"layer norm", [](Case& c) { c.model.norm = Norm::kLayer; }},
    {"layer norm, bias, no q/k norms, no position",
     [](Case& c) {
       c.model.norm = Norm::kLayer;
       c.model.bias = true;
       c.model.qk_norm = false;
       c.model.position = Position::kNone;
     }},
    {"plain MLP", [](Case& c) { c.model.mlp = Mlp::kPlain; }},
    {"tied", [](Case& c) { c.model.tied = true; }},
    {"tied without attention, with bias",
     [](Case& c) {
       c.model.tied = true;
       c.model.bias = true;
       c.model.attention = Attention::kNone;
     }},
    {"no position", [](Case& c) { c.model.position = Position::kNone; }},
    {"one key and value head", [](Case& c) { c.model.num_key_value_heads = 1; }},
    {"a key and value head a query head", [](Case& c) { c.model.num_key_value_heads = 4; }},
    {"label smoothing", [](Case& c) { c.recipe.label_smoothing = 0.2; }},
    {"mask none", [](Case& c) { c.recipe.mask = Mask::kNone; }},
    {"single target, mean of micro-batches",
     [](Case& c) {
       c.recipe.mask = Mask::kSingle;
       c.recipe.loss_norm = LossNorm::kMicroBatch;
     }},
    {"sequence of nine", [](Case& c) { c.recipe.seq = 9; }},
    {"window of one key", [](Case& c) { c.model.sliding_window = 1; }},
    {"window of three keys in a sequence of nine",
     [](Case& c) {
       c.model.sliding_window = 3;
       c.recipe.seq = 9;
     }},
    {"sink", [](Case& c) { c.model.attention_sink = true; }},
    {"packing", pack},
    {"dropout", [](Case& c) { c.recipe.dropout = 0.25; }},
    {"dropout without attention",
     [](Case& c) {
       c.recipe.dropout = 0.25;
       c.model.attention = Attention::kNone;
     }},
    {"everything", take_everything},
    {"everything, tied, with one key and value head and no q/k norms",
     [](Case& c) {
       take_everything(c);
       c.model.tied = true;
       c.model.num_key_value_heads = 1;
       c.model.qk_norm = false;
     }},
};

inline constexpr Mask kAllMasks[] = {
    Mask::kFull, Mask::kUneven, Mask::kSingle, Mask::kEmpty, Mask::kNone, Mask::kVarying};
inline constexpr LossNorm kBothNorms[] = {LossNorm::kMicroBatch, LossNorm::kToken};

}  // namespace lockstep::test
