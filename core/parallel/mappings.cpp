// The table of mappings, and applying one on a tape.
#include "core/parallel/mappings.h"

#include "core/base/errors.h"
#include "core/ops/elementwise.h"

namespace lockstep {
namespace {

Tensor identity(const RankContext&, const CollectiveSite&, const Tensor& x) { return x; }

Tensor summed(const RankContext& context, const CollectiveSite& site, const Tensor& x) {
  return all_reduced(context, site, x);
}

Tensor own_rows(const RankContext& context, const CollectiveSite& site, const Tensor& x) {
  const int size = context.group_size(site.group);
  LOCKSTEP_CHECK(x.shape[0] % size == 0,
                 to_text(x.shape) + " has no equal rows for " + std::to_string(size) + " ranks");
  const std::int64_t rows = x.shape[0] / size;
  return x.rows(rows * context.group_rank(site.group).value, rows);
}

Tensor own_columns(const RankContext& context, const CollectiveSite& site, const Tensor& x) {
  const int size = context.group_size(site.group);
  LOCKSTEP_CHECK(x.shape.last() % size == 0,
                 to_text(x.shape) + " has no equal columns for " + std::to_string(size) + " ranks");
  const std::int64_t width = x.shape.last() / size;
  return columns(context.ops, x, width * context.group_rank(site.group).value, width);
}

Tensor gathered_columns(const RankContext& context, const CollectiveSite& site, const Tensor& x) {
  const int size = context.group_size(site.group);
  const Shape shape = x.shape.with_last(x.shape.last() * size);
  const Tensor parts = all_gather_rows(context, site, x.reshaped({1, x.num_elements()}));
  return columns_joined(context.ops, parts, size, shape);
}

Tensor reduce_scattered_columns(const RankContext& context,
                                const CollectiveSite& site,
                                const Tensor& x) {
  const int size = context.group_size(site.group);
  const Shape shape = x.shape.with_last(x.shape.last() / size);
  const Tensor parts = columns_split(context.ops, x, size);
  const Tensor own =
      reduce_scatter_rows(context, site, parts.reshaped({size, shape.num_elements()}));
  return own.reshaped(shape);
}

// Rows of some tokens and all columns to rows of all tokens and own columns, tokens in the order of
// ranks.
Tensor tokens_for_heads(const RankContext& context, const CollectiveSite& site, const Tensor& x) {
  const int size = context.group_size(site.group);
  const Shape rows{x.shape[0] * size, x.num_elements() / x.shape[0] / size};
  return all_to_all_rows(context, site, columns_split(context.ops, x, size)).reshaped(rows);
}

Tensor heads_for_tokens(const RankContext& context, const CollectiveSite& site, const Tensor& x) {
  const int size = context.group_size(site.group);
  const Shape shape{x.shape[0] / size, x.num_elements() / x.shape[0] * size};
  const Tensor parts = x.reshaped({size, x.num_elements() / size});
  return columns_joined(context.ops, all_to_all_rows(context, site, parts), size, shape);
}

}  // namespace

std::string_view name_of(MappingKind kind) {
  switch (kind) {
    case MappingKind::kCopy:
      return "copy";
    case MappingKind::kReduce:
      return "reduce";
    case MappingKind::kScatterLast:
      return "scatter_last";
    case MappingKind::kGatherLast:
      return "gather_last";
    case MappingKind::kGatherLastReduce:
      return "gather_last_reduce";
    case MappingKind::kScatterRows:
      return "scatter_rows";
    case MappingKind::kGatherRows:
      return "gather_rows";
    case MappingKind::kGatherRowsSlice:
      return "gather_rows_slice";
    case MappingKind::kReduceScatterRows:
      return "reduce_scatter_rows";
    case MappingKind::kGatherKeys:
      return "gather_keys";
    case MappingKind::kTokensToHeads:
      return "tokens_to_heads";
    case MappingKind::kHeadsToTokens:
      return "heads_to_tokens";
  }
  throw InternalError("unknown mapping");
}

MappingTable plan_mappings(const Layout& layout) {
  MappingTable table;
  if (layout.sp) {
    table.enter = MappingKind::kGatherRows;
    table.leave = MappingKind::kReduceScatterRows;
  }
  for (Mapping& mapping : table.by_kind) mapping = {"identity", identity, identity};
  const auto set = [&](MappingKind kind, MappingFunction forward, MappingFunction backward) {
    table.of(kind) = {std::string(name_of(kind)), forward, backward};
  };
  if (layout.tp > 1) {
    set(MappingKind::kCopy, identity, summed);
    set(MappingKind::kReduce, summed, identity);
    set(MappingKind::kScatterLast, own_columns, gathered_columns);
    set(MappingKind::kGatherLast, gathered_columns, own_columns);
    set(MappingKind::kGatherLastReduce, gathered_columns, reduce_scattered_columns);
    set(MappingKind::kScatterRows, own_rows, all_gather_rows);
    set(MappingKind::kGatherRows, all_gather_rows, reduce_scatter_rows);
    set(MappingKind::kGatherRowsSlice, all_gather_rows, own_rows);
    set(MappingKind::kReduceScatterRows, reduce_scatter_rows, all_gather_rows);
  }
  if (layout.cp > 1) {
    set(MappingKind::kGatherKeys, all_gather_rows, reduce_scatter_rows);
    set(MappingKind::kTokensToHeads, tokens_for_heads, heads_for_tokens);
    set(MappingKind::kHeadsToTokens, heads_for_tokens, tokens_for_heads);
  }
  return table;
}

std::string to_text(const MappingTable& table) {
  std::string text;
  for (int kind = 0; kind < kNumMappings; ++kind) {
    text += "mapping." + std::string(name_of(static_cast<MappingKind>(kind))) + " = " +
            table.by_kind[static_cast<std::size_t>(kind)].name + "\n";
  }
  text += "mapping.enter = " + std::string(name_of(table.enter)) + "\n";
  text += "mapping.leave = " + std::string(name_of(table.leave)) + "\n";
  text += table.row_bias == RowBias::kAfterLeaving ? "row bias after leaving\n"
                                                   : "row bias before leaving\n";
  return text;
}

MappingSite::MappingSite(MappingKind mapping_kind, GroupKind group_kind, const std::string& module)
    : kind(mapping_kind),
      group(group_kind),
      forward_label("forward." + std::string(name_of(mapping_kind)) + "." + module),
      backward_label("backward." + std::string(name_of(mapping_kind)) + "." + module) {}

Variable apply(const RankContext& context, Tape& tape, const MappingSite& site, const Variable& x) {
  const Mapping& mapping = context.mappings.of(site.kind);
  const CollectiveSite forward{.group = site.group, .label = site.forward_label};
  return tape.record({.label = site.forward_label,
                      .inputs = {x},
                      .outputs = {mapping.forward(context, forward, x.value)},
                      .backward_input = [&context, &mapping, &site](
                                            const BackwardCall& call) -> std::vector<Tensor> {
                        const CollectiveSite backward{.group = site.group,
                                                      .label = site.backward_label};
                        return {mapping.backward(context, backward, call.output_gradients[0])};
                      }})[0];
}

}  // namespace lockstep
