// The plan of context parallel attention.
#include "core/model/context_plan.h"

#include <fmt/format.h>

#include <utility>

#include "core/ops/host.h"

namespace lockstep {
namespace {

RingPlan plan_ring(GroupKind group, std::int64_t size) {
  RingPlan plan{.group = group, .forward = {}, .backward = {}};
  for (std::int64_t step = 0; step < size; ++step) {
    const bool is_last = step + 1 == size;
    plan.forward.push_back(
        {.label = fmt::format("forward.ring{}", step), .owner = step, .passes_keys = !is_last});
    plan.backward.push_back({.label = fmt::format("backward.ring{}", step),
                             .owner = step,
                             .passes_keys = !is_last,
                             .passes_gradients = true});
  }
  return plan;
}

std::string to_text(const RingStep& step) {
  return fmt::format("{}: keys of the rank {} back{}{}{}\n",
                     step.label,
                     step.owner,
                     step.uses_own_keys ? ", from its own" : "",
                     step.passes_keys ? ", passes keys" : "",
                     step.passes_gradients ? ", passes gradients" : "");
}

std::vector<std::int64_t> parts_of_group(const RankContext& context,
                                         Rank member,
                                         std::optional<GroupKind> kind,
                                         Axis axis) {
  if (!kind.has_value()) return {context.mesh.coordinate(member, axis)};
  std::vector<std::int64_t> parts;
  for (const Rank rank : context.mesh.group_of(*kind, member)->ranks) {
    parts.push_back(context.mesh.coordinate(rank, axis));
  }
  return parts;
}

}  // namespace

ContextPlan plan_context(const Case& c) {
  const Layout& layout = c.layout;
  ContextPlan plan{.window = c.model.sliding_window,
                   .uses_sink = c.model.attention_sink,
                   .tokens = plan_sequence_cut(c)};
  plan.is_whole = layout.cp == 1 && !c.recipe.packing && plan.window == 0 && !plan.uses_sink &&
                  c.recipe.dropout == 0.0;
  if (layout.cp == 1 || c.model.attention == Attention::kNone) return plan;
  switch (layout.cp_comm) {
    case CpComm::kP2p:
      plan.ring = plan_ring(GroupKind::kCp, layout.cp);
      break;
    case CpComm::kAllGather:
      plan.keys_group = GroupKind::kCp;
      break;
    case CpComm::kAllToAll:
      plan.heads_group = GroupKind::kCp;
      break;
    case CpComm::kAllToAllP2p:
      plan.heads_group = GroupKind::kCpInner;
      plan.ring = plan_ring(GroupKind::kCpOuter, layout.cp / layout.cp_inner);
      break;
  }
  return plan;
}

std::string to_text(const ContextPlan& plan) {
  if (plan.is_whole) return "context: whole sequences\n";
  std::string text = fmt::format("context: window {}, {} sink, documents {}, tokens {}\n",
                                 plan.window,
                                 plan.uses_sink ? "a" : "no",
                                 plan.keeps_documents_apart ? "apart" : "joined",
                                 to_text(plan.tokens));
  if (plan.heads_group) text += fmt::format("context: heads over {}\n", name_of(*plan.heads_group));
  if (plan.keys_group) text += fmt::format("context: keys over {}\n", name_of(*plan.keys_group));
  if (!plan.ring) return text;
  text += fmt::format("context: ring over {}\n", name_of(plan.ring->group));
  for (const RingStep& step : plan.ring->forward) text += to_text(step);
  for (const RingStep& step : plan.ring->backward) text += to_text(step);
  return text;
}

AttendedParts attended_parts(const ContextPlan& plan, const RankContext& context) {
  const Axis axis = plan.tokens.axis;
  AttendedParts parts{.queries = parts_of_group(context, context.rank, plan.heads_group, axis),
                      .forward_keys = {},
                      .backward_keys = {}};
  if (!plan.ring.has_value()) {
    const auto& keys = plan.keys_group
                           ? parts_of_group(context, context.rank, plan.keys_group, axis)
                           : parts.queries;
    parts.forward_keys = parts.backward_keys = {keys};
    return parts;
  }
  const Group& ring = *context.mesh.group_of(plan.ring->group, context.rank);
  const std::int64_t own = ring.rank_of(context.rank)->value;
  const auto keys_of = [&](const std::vector<RingStep>& steps) {
    std::vector<std::vector<std::int64_t>> keys;
    for (const RingStep& step : steps) {
      const std::int64_t owner = (own + ring.size() - step.owner % ring.size()) % ring.size();
      keys.push_back(parts_of_group(
          context, ring.ranks[static_cast<std::size_t>(owner)], plan.heads_group, axis));
    }
    return keys;
  };
  parts.forward_keys = keys_of(plan.ring->forward);
  parts.backward_keys = keys_of(plan.ring->backward);
  return parts;
}

namespace {

// Where each document begins among the padded ones.
std::vector<std::int64_t> padded_starts(SequenceCut cut, const Documents& documents) {
  cut.num_parts = 1;
  std::vector<std::int64_t> starts(documents.starts.size(), 0);
  for (const SequenceSlot& slot : slots_of(cut, documents, 0)) {
    for (auto d = static_cast<std::size_t>(slot.document) + 1; d < starts.size(); ++d) ++starts[d];
  }
  return starts;
}

}  // namespace

Tensor token_table(const OpContext& ops,
                   const ContextPlan& plan,
                   const Documents& documents,
                   const std::vector<std::int64_t>& parts) {
  const std::vector<std::int64_t> starts = padded_starts(plan.tokens, documents);
  std::vector<std::int64_t> numbers;
  std::vector<std::int64_t> places;
  std::vector<std::int64_t> positions;
  for (const std::int64_t part : parts) {
    for (const SequenceSlot& slot : slots_of(plan.tokens, documents, part)) {
      const std::int64_t start = starts[static_cast<std::size_t>(slot.document)];
      numbers.push_back(plan.keeps_documents_apart ? slot.document : 0);
      places.push_back(plan.keeps_documents_apart ? slot.place : start + slot.place);
      positions.push_back(slot.position);
    }
  }
  const auto count = static_cast<std::int64_t>(numbers.size());
  std::vector<std::int64_t> table = std::move(numbers);
  table.insert(table.end(), places.begin(), places.end());
  table.insert(table.end(), positions.begin(), positions.end());
  return integers_from_host(ops, table, {3, count}, "batch.tokens");
}

}  // namespace lockstep
