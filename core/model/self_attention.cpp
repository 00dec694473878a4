// Self-attention's forward pass.
#include "core/model/self_attention.h"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

AttentionSizes own_sizes(const RankContext& context, const Case& c) {
  const Model& model = c.model;
  const std::int64_t tp = context.group_size(GroupKind::kTp);
  return {.batch = c.recipe.micro_batch,
          .num_heads = model.num_attention_heads / tp,
          .num_kv_heads = std::max<std::int64_t>(model.num_key_value_heads / tp, 1),
          .head_dim = model.head_dim,
          .scale = 1.0 / std::sqrt(static_cast<double>(model.head_dim))};
}

std::optional<NormLayer> head_norm(const Case& c,
                                   const NamedParameters& parameters,
                                   const std::string& name) {
  if (!c.model.qk_norm) return std::nullopt;
  return NormLayer(c.model, parameters, name);
}

}  // namespace

SelfAttention::SelfAttention(const RankContext& context,
                             const Case& c,
                             const NamedParameters& parameters,
                             const std::string& name)
    : sizes_(own_sizes(context, c)),
      queries_(c.model.num_attention_heads / c.model.num_key_value_heads),
      group_sharers_(
          std::max<std::int64_t>(c.layout.tp / c.model.num_key_value_heads, std::int64_t{1})),
      norm_(c.model, parameters, name + ".linear_qkv.layer_norm_"),
      linear_qkv_(context, name + ".linear_qkv", parameters.linear(name + ".linear_qkv")),
      gather_qkv_(MappingKind::kGatherLastReduce, GroupKind::kTp, name + ".linear_qkv"),
      q_norm_(head_norm(c, parameters, name + ".q_layernorm.")),
      k_norm_(head_norm(c, parameters, name + ".k_layernorm.")),
      linear_proj_(context, name + ".linear_proj", parameters.linear(name + ".linear_proj")) {}

QkvVariables SelfAttention::own_heads(const RankContext& context,
                                      Tape& tape,
                                      const Variable& qkv) const {
  const std::int64_t head_dim = sizes_.head_dim;
  if (group_sharers_ == 1) {
    return split_qkv(
        tape, qkv, {.groups = sizes_.num_kv_heads, .queries = queries_, .head_dim = head_dim});
  }
  const Variable all = apply(context, tape, gather_qkv_, qkv);
  const std::int64_t rank = context.group_rank(GroupKind::kTp).value;
  const std::int64_t group_width = (queries_ + 2) * head_dim;
  const Variable group = columns(tape, all, rank / group_sharers_ * group_width, group_width);
  QkvVariables heads =
      split_qkv(tape, group, {.groups = 1, .queries = queries_, .head_dim = head_dim});
  const std::int64_t own_width = sizes_.num_heads * head_dim;
  heads.q = columns(tape, heads.q, rank % group_sharers_ * own_width, own_width);
  return heads;
}

Variable SelfAttention::normed_heads(Tape& tape,
                                     const Variable& x,
                                     const std::optional<NormLayer>& norm) const {
  if (!norm.has_value()) return x;
  const Shape shape = x.value.shape;
  const Shape by_head{x.value.num_elements() / sizes_.head_dim, sizes_.head_dim};
  return reshaped(tape, norm->forward(tape, reshaped(tape, x, by_head)), shape);
}

Variable SelfAttention::forward(const RankContext& context,
                                Tape& tape,
                                const Variable& x,
                                const RopeTables& tables,
                                std::vector<Tensor>& trace) const {
  const Variable qkv = linear_qkv_.forward(context, tape, norm_.forward(tape, x));
  trace.push_back(qkv.value);
  QkvVariables heads = own_heads(context, tape, qkv);
  heads.q = normed_heads(tape, heads.q, q_norm_);
  heads.k = normed_heads(tape, heads.k, k_norm_);
  if (tables.cos) {
    heads.q = rope(tape, heads.q, tables, sizes_.batch);
    heads.k = rope(tape, heads.k, tables, sizes_.batch);
  }
  const Variable core = attention(tape, heads, sizes_);
  trace.push_back(core.value);
  const Variable out = linear_proj_.forward(context, tape, core);
  trace.push_back(out.value);
  return out;
}

}  // namespace lockstep
