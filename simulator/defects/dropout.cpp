// Dropout's random streams: shared where they must differ, and apart where they must not.
#include "simulator/defects/conditions.h"
#include "simulator/defects/rows.h"
#include "simulator/defects/trial_setup.h"

namespace lockstep::sim {
namespace {

// So many elements that other draws drop others, in every mask.
constexpr std::string_view kDrops = "dropout >= 0.1 && seq >= 8 && hidden_size >= 16";

bool drops(const TrialSetup& setup) { return setup.plans.dropout.probability > 0.0; }

void copies_from_own_streams(const Case& c, TrialSetup& setup) {
  if (drops(setup) && c.layout.tp > 1) setup.plans.dropout.default_stream.seed_axis = Axis::kTp;
}

void one_mask_for_all_parts(const Case& c, TrialSetup& setup) {
  if (!drops(setup) || c.layout.tp == 1) return;
  setup.plans.dropout.tensor_parallel_stream.index = MaskIndex::kLocal;
}

void streams_by_tensor_rank(const Case& c, TrialSetup& setup) {
  if (!drops(setup) || c.layout.tp == 1) return;
  StreamEntry& stream = setup.plans.dropout.tensor_parallel_stream;
  stream.index = MaskIndex::kLocal;
  stream.seed_axis = Axis::kTp;
}

void streams_split_over_cp(const Case& c, TrialSetup& setup) {
  if (drops(setup) && c.layout.cp > 1) setup.plans.dropout.default_stream.seed_axis = Axis::kCp;
}

void streams_split_over_dp(const Case& c, TrialSetup& setup) {
  if (drops(setup) && c.layout.dp > 1) setup.plans.dropout.default_stream.seed_axis = Axis::kDp;
}

}  // namespace

std::vector<Defect> dropout_rows() {
  return {
      {.id = "B63-copies-from-own-streams",
       .source = "NVIDIA/Megatron-LM #206",
       .summary = "tensor ranks drop other elements of what they hold in copies",
       .visible_when = both(std::string(kDrops) + " && tp > 1 && !sp", kMostTargets),
       .edit = copies_from_own_streams},
      {.id = "S15-one-mask-for-all-parts",
       .source = "NVIDIA/Megatron-LM tensor_parallel/random.py (semantics, section 1.5)",
       .summary = "ranks that hold other parts of an activation drop the same elements of them",
       .visible_when = both(
           std::string(kDrops) + " && tp > 1 && (sp || attention == causal && sliding_window != 1)",
           kMostTargets),
       .edit = one_mask_for_all_parts},
      {.id = "B65-streams-by-tensor-rank",
       .source = "pytorch/pytorch #168058",
       .summary =
           "masks of sharded activations are drawn by rank, so that they depend on the layout",
       .visible_when = both(
           std::string(kDrops) + " && tp > 1 && (sp || attention == causal && sliding_window != 1)",
           kMostTargets),
       .edit = streams_by_tensor_rank},
      {.id = "S15-streams-split-over-cp",
       .source = "NVIDIA/Megatron-LM tensor_parallel/random.py (semantics, section 1.5)",
       .summary = "each cp rank draws from a stream of its own where masks go by the token",
       .visible_when = both(std::string(kDrops) + " && cp > 1 && !sp", kMostTargets),
       .edit = streams_split_over_cp},
      {.id = "S15-streams-split-over-dp",
       .source = "NVIDIA/Megatron-LM training/initialize.py (semantics, section 1.5)",
       .summary = "each data rank draws from a stream of its own where masks go by the sample",
       .visible_when = both(std::string(kDrops) + " && dp > 1 && !sp", kMostTargets),
       .edit = streams_split_over_dp},
  };
}

}  // namespace lockstep::sim
