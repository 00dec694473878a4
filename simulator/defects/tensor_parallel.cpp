// Mappings and attention heads: forward and backward passes over tp that lose or repeat terms.
#include "core/ops/elementwise.h"
#include "simulator/defects/conditions.h"
#include "simulator/defects/edits.h"
#include "simulator/defects/rows.h"

namespace lockstep::sim {
namespace {

Tensor left_partial(const RankContext&, const CollectiveSite&, const Tensor& gradient) {
  return gradient;
}

Tensor next_ranks_columns(const RankContext& context, const CollectiveSite& site, const Tensor& x) {
  const int next = (context.group_rank(site.group).value + 1) % context.group_size(site.group);
  const std::int64_t width = x.shape.last() / context.group_size(site.group);
  return columns(context.ops, x, width * next, width);
}

void with_backward(TrialSetup& setup,
                   MappingKind kind,
                   const std::string& name,
                   MappingFunction backward) {
  MappingTable& table = setup.plans.mappings;
  replace(table, kind, {.name = name, .forward = table.of(kind).forward, .backward = backward});
}

void copy_without_backward_sum(const Case&, TrialSetup& setup) {
  with_backward(setup, MappingKind::kCopy, "copy without backward sum", left_partial);
}

void gather_without_backward_sum(const Case& c, TrialSetup& setup) {
  if (c.layout.tp > 1 && c.layout.sp) setup.plans.mappings.enter = MappingKind::kGatherRowsSlice;
}

void gather_takes_the_wrong_part(const Case&, TrialSetup& setup) {
  with_backward(
      setup, MappingKind::kGatherLast, "gather_last of the next rank", next_ranks_columns);
}

void shared_kv_gradient_missing(const Case&, TrialSetup& setup) {
  with_backward(setup,
                MappingKind::kGatherLastReduce,
                "gather_last without backward sum",
                setup.plans.mappings.of(MappingKind::kGatherLast).backward);
}

void kv_group_by_remainder(const Case& c, TrialSetup& setup) {
  HeadPlan& heads = setup.plans.heads;
  const auto groups = static_cast<std::size_t>(c.model.num_key_value_heads);
  for (std::size_t rank = 0; rank < heads.sharers.size(); ++rank) {
    heads.sharers[rank] = {
        .group = static_cast<std::int64_t>(rank % groups),
        .first_query = static_cast<std::int64_t>(rank / groups) * heads.num_queries};
  }
}

void query_slice_forgotten(const Case&, TrialSetup& setup) {
  for (SharedHeads& own : setup.plans.heads.sharers) own.first_query = 0;
}

void row_bias_on_every_rank(const Case& c, TrialSetup& setup) {
  if (c.layout.tp > 1 && c.model.bias) setup.plans.mappings.row_bias = RowBias::kBeforeLeaving;
}

}  // namespace

std::vector<Defect> tensor_parallel_rows() {
  return {
      {.id = "B16-shared-kv-gradient-missing",
       .source = "bigcode-project/Megatron-LM #35",
       .summary = "ranks that share a kv head keep the gradient of their own query heads to it",
       .visible_when = both(kSharedKvHeads, kAnyTarget),
       .edit = shared_kv_gradient_missing},
      {.id = "B38-row-bias-on-every-rank",
       .source = "pytorch/torchtitan #2106",
       .summary = "the bias of a row-parallel map is added to every rank's term of the sum",
       .visible_when = "tp > 1 && bias",
       .edit = row_bias_on_every_rank},
      {.id = "S21-copy-without-backward-sum",
       .source = "NVIDIA/Megatron-LM tensor_parallel/mappings.py (semantics, section 2.1)",
       .summary = "the gradient of a tensor-parallel map's input stays a partial sum on each rank",
       .visible_when = both("tp > 1 && !sp", kAnyTarget),
       .edit = copy_without_backward_sum},
      {.id = "S21-gather-takes-the-wrong-part",
       .source = "NVIDIA/Megatron-LM tensor_parallel/mappings.py (semantics, section 2.1)",
       .summary = "the backward of a gather takes the next rank's part of the gradient",
       .visible_when = both("tp > 1 && gather_output", kAnyTarget),
       .edit = gather_takes_the_wrong_part},
      {.id = "S21-gather-without-backward-sum",
       .source = "NVIDIA/Megatron-LM #1699 (semantics, section 2.1)",
       .summary =
           "the backward of the sequence gather only slices, as if all ranks had one gradient",
       .visible_when = both("tp > 1 && sp", kAnyTarget),
       .edit = gather_without_backward_sum},
      {.id = "T23-kv-group-by-remainder",
       .source = "NVIDIA/Megatron-LM transformer/attention.py (semantics, section 12, trap 23)",
       .summary = "with fewer kv heads than ranks a rank takes the group of its remainder",
       .visible_when = std::string(kSharedKvHeads) + " && num_key_value_heads > 1",
       .edit = kv_group_by_remainder},
      {.id = "T23-query-slice-forgotten",
       .source = "NVIDIA/Megatron-LM transformer/attention.py (semantics, section 12, trap 23)",
       .summary = "all ranks that share a kv head compute its first query heads",
       .visible_when = std::string(kSharedKvHeads) + " && sliding_window != 1",
       .edit = query_slice_forgotten},
  };
}

}  // namespace lockstep::sim
