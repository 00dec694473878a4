// Initial values and samples: shards of another model, copies that differ, data read twice.
#include <algorithm>

#include "simulator/defects/conditions.h"
#include "simulator/defects/edits.h"
#include "simulator/defects/rows.h"

namespace lockstep::sim {
namespace {

void one_seed_for_all_shards(const Case& c, TrialSetup& setup) {
  if (c.layout.tp == 1) return;
  for (InitEntry& entry : setup.plans.init.entries) {
    if (entry.cut.has_value()) entry.part = 0;
  }
}

void shards_from_rank_seeds(const Case& c, TrialSetup& setup) {
  if (c.layout.tp == 1) return;
  for (InitEntry& entry : setup.plans.init.entries) {
    if (entry.cut.has_value()) entry.seed_axis = Axis::kTp;
  }
}

void copies_never_aligned(const Case& c, TrialSetup& setup) {
  if (c.layout.tp == 1) return;
  for (InitEntry& entry : setup.plans.init.entries) {
    if (!entry.cut.has_value()) entry.seed_axis = Axis::kTp;
  }
}

void replicas_from_own_seeds(const Case& c, TrialSetup& setup) {
  if (c.layout.dp == 1) return;
  for (InitEntry& entry : setup.plans.init.entries) entry.seed_axis = Axis::kDp;
}

// Gate and up one after the other, cut as one matrix.
void gate_and_up_cut_as_one(const Case& c, TrialSetup& setup) {
  if (c.layout.tp == 1) return;
  for (InitEntry& entry : setup.plans.init.entries) {
    if (!entry.cut.has_value()) continue;
    entry.cut->part_size *= entry.cut->num_blocks;
    entry.cut->num_blocks = 1;
  }
}

void batch_sized_by_the_world(const Case& c, TrialSetup& setup) {
  if (c.layout.tp == 1) return;
  const std::int64_t count = std::max<std::int64_t>(num_micro_batches(c) / c.layout.tp, 1);
  AccumulationPlan& plan = setup.plans.accumulation;
  setup.plans.batch.num_micro_batches = count;
  plan.micro_batches.resize(static_cast<std::size_t>(count));
  plan.micro_batches.back().starts_sums = !plan.sums.empty();
}

void every_data_rank_reads_the_same(const Case& c, TrialSetup& setup) {
  if (c.layout.dp > 1) setup.plans.batch.dp_stride = 0;
}

}  // namespace

std::vector<Defect> initial_rows() {
  return {
      {.id = "B61-one-seed-for-all-shards",
       .source = "modelscope/ms-swift #7944, InternLM #405",
       .summary = "shards are drawn from one seed on every tensor rank, and the matrix repeats a "
                  "block",
       .visible_when = "tp > 1",
       .edit = one_seed_for_all_shards},
      {.id = "B66-shards-from-rank-seeds",
       .source = "NVIDIA-NeMo/Automodel #2939, pytorch/pytorch #168058",
       .summary =
           "parameters are drawn after sharding from the rank's own generator, and depend on "
           "the layout",
       .visible_when = "tp > 1",
       .edit = shards_from_rank_seeds},
      {.id = "B67-copies-never-aligned",
       .source = "NVIDIA-NeMo/Automodel #3822",
       .summary = "what tensor ranks hold in copies is drawn on each and never aligned",
       .visible_when = "tp > 1",
       .edit = copies_never_aligned},
      {.id = "B105-gate-and-up-cut-as-one",
       .source = "NVIDIA-NeMo/Megatron-Bridge #1690, #1817",
       .summary =
           "an import slices plain rows of the fused projection, and the first ranks get the "
           "gate, the last ones up",
       .visible_when = "tp > 1 && mlp == gated",
       .edit = gate_and_up_cut_as_one},
      {.id = "B152-every-data-rank-reads-the-same",
       .source = "vllm-project/speculators #427",
       .summary = "the sampler goes by a rank's place on its host, and data ranks read the same "
                  "samples",
       .visible_when = "dp > 1",
       .edit = every_data_rank_reads_the_same},
      {.id = "B155-batch-sized-by-the-world",
       .source = "axolotl-ai-cloud/axolotl #3444",
       .summary =
           "the batch is sized by the world, as if tensor ranks too read samples of their own, "
           "and a part of it is never read",
       .visible_when = "tp > 1 && num_micro_batches > 1",
       .edit = batch_sized_by_the_world},
      {.id = "S56-replicas-from-own-seeds",
       .source = "NVIDIA/Megatron-LM broadcast_params (semantics, section 5.6)",
       .summary = "parameters are not broadcast at the start, and each replica has drawn its own",
       .visible_when = "dp > 1",
       .edit = replicas_from_own_seeds},
  };
}

}  // namespace lockstep::sim
