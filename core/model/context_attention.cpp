// Exchanges of heads and keys, and the ring in both directions.
#include "core/model/context_attention.h"

#include <array>
#include <utility>

#include "core/ops/elementwise.h"

namespace lockstep {
namespace {

GroupKind group_or_cp(const std::optional<GroupKind>& group) {
  return group.value_or(GroupKind::kCp);
}

// Where nothing travels, the keys at hand are the only block.
std::vector<RingStep> steps_of(const ContextPlan& plan, std::vector<RingStep> RingPlan::*steps) {
  if (!plan.ring.has_value()) return {RingStep{}};
  return (*plan.ring).*steps;
}

std::vector<std::string> labels_of(const std::vector<RingStep>& steps,
                                   std::string_view what,
                                   const std::string& module) {
  std::vector<std::string> labels;
  for (const RingStep& step : steps) {
    labels.push_back(step.label + "." + std::string(what) + "." + module);
  }
  return labels;
}

// The part of its heads that a rank attends with, after the exchange.
AttentionBlock block_for(const RankContext& context,
                         const Case& c,
                         const ContextPlan& plan,
                         const DropoutPlan& dropout,
                         const AttentionSizes& sizes,
                         const std::string& module) {
  const int parts = plan.heads_group ? context.group_size(*plan.heads_group) : 1;
  const int part = plan.heads_group ? context.group_rank(*plan.heads_group).value : 0;
  AttentionBlock block{.sizes = sizes,
                       .window = plan.window,
                       .dropout = dropout_at(dropout, dropout.attention, context, module),
                       .seq = c.recipe.seq};
  block.sizes.num_heads /= parts;
  block.sizes.num_kv_heads /= parts;
  if (dropout.of(dropout.attention).index == MaskIndex::kFull) {
    block.all_heads = c.model.num_attention_heads;
    block.first_head =
        context.group_rank(GroupKind::kTp).value * sizes.num_heads + part * block.sizes.num_heads;
  } else {
    block.all_heads = block.sizes.num_heads;
  }
  return block;
}

std::int64_t first_attended_head(const RankContext& context,
                                 const ContextPlan& plan,
                                 const AttentionBlock& block) {
  if (!plan.heads_group) return 0;
  return context.group_rank(*plan.heads_group).value * block.sizes.num_heads;
}

Tensor zeros_like(const OpContext& ops, const Tensor& x) {
  const Tensor zeros = new_tensor(ops, ops.main_dtype(), x.shape, "attention.gradients");
  fill(ops, zeros, 0.0, "op.attention_zero");
  return zeros;
}

Tensor in_own_type(const OpContext& ops, const Tensor& x) {
  return x.dtype == ops.dtype ? x : converted(ops, x, ops.dtype);
}

}  // namespace

ContextAttention::ContextAttention(const RankContext& context,
                                   const Case& c,
                                   const ContextPlan& plan,
                                   const DropoutPlan& dropout,
                                   const AttentionSizes& sizes,
                                   const std::string& module,
                                   std::optional<Parameter> sink)
    : plan_(plan),
      block_(block_for(context, c, plan, dropout, sizes, module)),
      sink_first_(first_attended_head(context, plan, block_)),
      sink_(std::move(sink)),
      queries_to_heads_(
          MappingKind::kTokensToHeads, group_or_cp(plan.heads_group), module + ".queries"),
      keys_to_heads_(MappingKind::kTokensToHeads, group_or_cp(plan.heads_group), module + ".keys"),
      values_to_heads_(
          MappingKind::kTokensToHeads, group_or_cp(plan.heads_group), module + ".values"),
      gather_keys_(MappingKind::kGatherKeys, group_or_cp(plan.keys_group), module + ".keys"),
      gather_values_(MappingKind::kGatherKeys, group_or_cp(plan.keys_group), module + ".values"),
      to_tokens_(MappingKind::kHeadsToTokens, group_or_cp(plan.heads_group), module),
      forward_steps_(steps_of(plan, &RingPlan::forward)),
      backward_steps_(steps_of(plan, &RingPlan::backward)),
      forward_labels_{.keys = labels_of(forward_steps_, "keys", module), .gradients = {}},
      backward_labels_{.keys = labels_of(backward_steps_, "keys", module),
                       .gradients = labels_of(backward_steps_, "gradients", module)} {}

Variable ContextAttention::forward(const RankContext& context,
                                   Tape& tape,
                                   const QkvVariables& heads,
                                   const SequenceTables& tables) const {
  if (plan_.is_whole) return attention(tape, heads, block_.sizes);
  QkvVariables attended = heads;
  if (plan_.heads_group) {
    attended.q = apply(context, tape, queries_to_heads_, heads.q);
    attended.k = apply(context, tape, keys_to_heads_, heads.k);
    attended.v = apply(context, tape, values_to_heads_, heads.v);
  }
  if (plan_.keys_group) {
    attended.k = apply(context, tape, gather_keys_, heads.k);
    attended.v = apply(context, tape, gather_values_, heads.v);
  }
  const Variable out = attend(context, tape, attended, tables);
  return plan_.heads_group ? apply(context, tape, to_tokens_, out) : out;
}

Variable ContextAttention::attend(const RankContext& context,
                                  Tape& tape,
                                  const QkvVariables& heads,
                                  const SequenceTables& tables) const {
  const Qkv inputs{.q = heads.q.value, .k = heads.k.value, .v = heads.v.value};
  const AttentionState state = run_forward(context, inputs, tables);
  TapeNode node{
      .label = "context_attention",
      .inputs = {heads.q, heads.k, heads.v},
      .outputs = {in_own_type(tape.ops(), state.out)},
      .saved = {inputs.q, inputs.k, inputs.v, state.out, state.lse},
      .backward_input = [this, &context, &tables](const BackwardCall& call) -> std::vector<Tensor> {
        const Qkv gradients = run_backward(context, call, tables);
        return {gradients.q, gradients.k, gradients.v};
      }};
  if (sink_.has_value()) node.parameters = {sink_->id};
  if (plan_.uses_sink) {
    node.backward_weight = [this](const BackwardCall& call, GradientSink& gradients) {
      accumulate_sink(call, gradients);
    };
  }
  return tape.record(std::move(node))[0];
}

AttentionBlock ContextAttention::block_of(const SequenceTables& tables) const {
  AttentionBlock block = block_;
  block.first_token = tables.first_token;
  return block;
}

Tensor ContextAttention::own_sink() const {
  if (!plan_.uses_sink) return {};
  return sink_->value.rows(sink_first_, block_.sizes.num_heads);
}

AttentionState ContextAttention::run_forward(const RankContext& context,
                                             const Qkv& inputs,
                                             const SequenceTables& tables) const {
  const OpContext& ops = context.ops;
  const AttentionBlock block = block_of(tables);
  const AttentionState state = attention_start(ops, inputs.q, block.sizes, own_sink());
  std::array<Tensor, 2> at_hand{inputs.k, inputs.v};
  for (std::size_t i = 0; i < forward_steps_.size(); ++i) {
    const RingStep& step = forward_steps_[i];
    const CollectiveSite site{.group = plan_.ring ? plan_.ring->group : GroupKind::kCp,
                              .label = forward_labels_.keys[i]};
    RingPass pass;
    if (step.passes_keys) pass = pass_on(context, site, at_hand);
    attention_block(ops,
                    inputs.q,
                    step.uses_own_keys ? KeysAndValues{.k = inputs.k, .v = inputs.v}
                                       : KeysAndValues{.k = at_hand[0], .v = at_hand[1]},
                    {.queries = tables.query_tokens, .keys = tables.forward_key_tokens.at(i)},
                    block,
                    state);
    if (!step.passes_keys) continue;
    const std::vector<Tensor> next = wait_for_pass(context, site, pass);
    at_hand = {next[0], next[1]};
  }
  return state;
}

AttentionFinal ContextAttention::final_of(const BackwardCall& call) const {
  return {.q = call.saved[0],
          .lse = call.saved[4],
          .delta = attention_delta(call.ops, call.saved[3], call.output_gradients[0], block_.sizes),
          .dout = call.output_gradients[0]};
}

// Gradients of keys and values travel with these, each rank adding its own, and go one place
// further after the last step: home.
Qkv ContextAttention::run_backward(const RankContext& context,
                                   const BackwardCall& call,
                                   const SequenceTables& tables) const {
  const OpContext& ops = call.ops;
  const AttentionFinal final = final_of(call);
  const KeysAndValues own{.k = call.saved[1], .v = call.saved[2]};
  const Tensor dq = zeros_like(ops, final.q);
  std::array<Tensor, 2> at_hand{own.k, own.v};
  std::array<Tensor, 2> gradients{zeros_like(ops, own.k), zeros_like(ops, own.v)};
  const GroupKind group = plan_.ring ? plan_.ring->group : GroupKind::kCp;
  for (std::size_t i = 0; i < backward_steps_.size(); ++i) {
    const RingStep& step = backward_steps_[i];
    const CollectiveSite keys_site{.group = group, .label = backward_labels_.keys[i]};
    const CollectiveSite gradients_site{.group = group, .label = backward_labels_.gradients[i]};
    RingPass keys_pass;
    if (step.passes_keys) keys_pass = pass_on(context, keys_site, at_hand);
    attention_block_backward(
        ops,
        final,
        step.uses_own_keys ? own : KeysAndValues{.k = at_hand[0], .v = at_hand[1]},
        {.queries = tables.query_tokens, .keys = tables.backward_key_tokens.at(i)},
        block_of(tables),
        {.q = dq, .k = gradients[0], .v = gradients[1]});
    if (step.passes_gradients) {
      const RingPass pass = pass_on(context, gradients_site, gradients);
      const std::vector<Tensor> next = wait_for_pass(context, gradients_site, pass);
      gradients = {next[0], next[1]};
    }
    if (!step.passes_keys) continue;
    const std::vector<Tensor> next = wait_for_pass(context, keys_site, keys_pass);
    at_hand = {next[0], next[1]};
  }
  return {.q = in_own_type(ops, dq),
          .k = in_own_type(ops, gradients[0]),
          .v = in_own_type(ops, gradients[1])};
}

// Heads that other ranks attend with have no share in this rank's gradient.
void ContextAttention::accumulate_sink(const BackwardCall& call, GradientSink& gradients) const {
  const AttentionFinal final = final_of(call);
  const Tensor own = attention_sink_backward(call.ops, own_sink(), final.lse, final.delta);
  const std::int64_t all = sink_->value.num_elements();
  const bool is_all = own.num_elements() == all;
  gradients.accumulate(sink_->id, is_all ? own : columns_padded(call.ops, own, sink_first_, all));
}

}  // namespace lockstep
