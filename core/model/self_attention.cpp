// Self-attention's forward pass.
#include "core/model/self_attention.h"

#include <cmath>

namespace lockstep {
namespace {

AttentionSizes sizes_of(const Case& c, const HeadPlan& heads) {
  return {.batch = c.recipe.micro_batch,
          .num_heads = heads.num_queries,
          .num_kv_heads = heads.num_kv,
          .head_dim = c.model.head_dim,
          .scale = 1.0 / std::sqrt(static_cast<double>(c.model.head_dim))};
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
                             const AttentionPlans& plans,
                             const NamedParameters& parameters,
                             const std::string& name)
    : heads_(plans.heads),
      sizes_(sizes_of(c, plans.heads)),
      norm_(c.model, parameters, name + ".linear_qkv.layer_norm_"),
      linear_qkv_(context, name + ".linear_qkv", parameters.linear(name + ".linear_qkv")),
      gather_qkv_(MappingKind::kGatherLastReduce, GroupKind::kTp, name + ".linear_qkv"),
      q_norm_(head_norm(c, parameters, name + ".q_layernorm.")),
      k_norm_(head_norm(c, parameters, name + ".k_layernorm.")),
      core_(context,
            c,
            plans.context,
            plans.dropout,
            sizes_,
            name + ".core_attention",
            parameters.find(name + ".core_attention.softmax_offset")),
      linear_proj_(context, name + ".linear_proj", parameters.linear(name + ".linear_proj")) {}

QkvVariables SelfAttention::own_heads(const RankContext& context,
                                      Tape& tape,
                                      const Variable& qkv) const {
  QkvGroups groups{
      .groups = heads_.num_kv, .queries = heads_.group_queries, .head_dim = sizes_.head_dim};
  if (heads_.sharers.empty()) return split_qkv(tape, qkv, groups);
  const Variable all = apply(context, tape, gather_qkv_, qkv);
  const auto rank = static_cast<std::size_t>(context.group_rank(GroupKind::kTp).value);
  const SharedHeads& own = heads_.sharers.at(rank);
  const std::int64_t group_width = (groups.queries + 2) * groups.head_dim;
  const Variable group = columns(tape, all, own.group * group_width, group_width);
  QkvVariables heads = split_qkv(tape, group, groups);
  heads.q = columns(
      tape, heads.q, own.first_query * groups.head_dim, heads_.num_queries * groups.head_dim);
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
                                const SequenceTables& tables,
                                std::vector<Tensor>& trace) const {
  const Variable qkv = linear_qkv_.forward(context, tape, norm_.forward(tape, x));
  trace.push_back(qkv.value);
  QkvVariables heads = own_heads(context, tape, qkv);
  heads.q = normed_heads(tape, heads.q, q_norm_);
  heads.k = normed_heads(tape, heads.k, k_norm_);
  if (tables.rope.cos) {
    heads.q = rope(tape, heads.q, tables.rope, sizes_.batch);
    heads.k = rope(tape, heads.k, tables.rope, sizes_.batch);
  }
  const Variable core = core_.forward(context, tape, heads, tables);
  trace.push_back(core.value);
  const Variable out = linear_proj_.forward(context, tape, core);
  trace.push_back(out.value);
  return out;
}

}  // namespace lockstep
