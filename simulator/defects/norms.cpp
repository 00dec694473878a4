// Norms and counts that miss or repeat elements, clipping by them, and weight decay by shape.
#include "simulator/defects/conditions.h"
#include "simulator/defects/edits.h"
#include "simulator/defects/rows.h"

namespace lockstep::sim {
namespace {

bool is_cut(const ParameterSpec& spec) { return spec.cut.has_value(); }

bool is_head_vector(const ParameterSpec& spec) { return spec.name.ends_with(".linear_qkv.bias"); }

void head_vector_left_out(const Case&, TrialSetup& setup) {
  count_on_first_rank(setup.plans.gradient_norm, setup.plans.table, is_head_vector);
  count_on_first_rank(setup.plans.gradient_zeros, setup.plans.table, is_head_vector);
}

void shards_left_out_of_the_parameter_norm(const Case&, TrialSetup& setup) {
  count_on_first_rank(setup.plans.parameter_norm, setup.plans.table, is_cut);
}

void shards_left_out(const Case&, TrialSetup& setup) {
  count_on_first_rank(setup.plans.gradient_norm, setup.plans.table, is_cut);
  count_on_first_rank(setup.plans.gradient_zeros, setup.plans.table, is_cut);
}

void copies_counted(const Case&, TrialSetup& setup) {
  for (CountEntry& entry : setup.plans.gradient_norm.entries) entry.copies = {};
}

void clip_by_own_norm(const Case&, TrialSetup& setup) { setup.plans.gradient_norm.sums.clear(); }

// Within the sum over ranks, where it belongs after it.
void eps_on_every_rank(const Case&, TrialSetup& setup) {
  CountPlan& plan = setup.plans.gradient_norm;
  if (!plan.sums.empty()) plan.start = 1e-6;
}

// A flat shard has one dim, as only norms and biases should have.
void decay_by_flat_shape(const Case&, TrialSetup& setup) {
  for (UpdateEntry& entry : setup.plans.update.entries) entry.weight_decay = 0.0;
}

}  // namespace

std::vector<Defect> norm_rows() {
  return {
      {.id = "B12-head-vector-left-out-of-the-norm",
       .source = "NVIDIA/Megatron-LM #7530",
       .summary =
           "a small vector that is cut by heads (here the bias of linear_qkv) lacks the mark of a "
           "shard, and counts on the first rank only",
       .visible_when = "tp > 1 && bias && attention == causal",
       .edit = head_vector_left_out},
      {.id = "S88-shards-left-out-of-the-parameter-norm",
       .source = "NVIDIA/Megatron-LM calc_params_l2_norm (semantics, sections 2.5 and 8.8)",
       .summary = "the parameter norm takes shards for copies and counts those of the first tensor "
                  "rank only",
       .visible_when = "tp > 1",
       .edit = shards_left_out_of_the_parameter_norm},
      {.id = "B56-shards-left-out-of-the-norm",
       .source = "deepspeedai/DeepSpeed #5411",
       .summary = "shards are taken for copies, and the gradient norm counts those of the first "
                  "tensor rank only",
       .visible_when = "tp > 1",
       .edit = shards_left_out},
      {.id = "B57-copies-counted-in-the-norm",
       .source = "NVIDIA-NeMo/RL #3788",
       .summary = "squares are summed over tp whatever the placement, and copies count tp times",
       .visible_when = "tp > 1",
       .edit = copies_counted},
      {.id = "S83-eps-on-every-rank",
       .source = "NVIDIA/Megatron-LM optimizer/clip_grads.py (semantics, section 8.3)",
       .summary = "the eps beside the gradient norm is added on every rank, within the sum",
       .visible_when = "tp > 1",
       .edit = eps_on_every_rank},
      {.id = "Tj-decay-by-flat-shape",
       .source = "NVIDIA/Megatron-LM distributed optimizer (semantics, section 12, short list (j))",
       .summary = "weight decay is decided by the shape of the flat shard, and matrices get none",
       .visible_when = "lr * weight_decay >= 1e-5",
       .edit = decay_by_flat_shape},
      {.id = "S82-clip-by-own-norm",
       .source = "NVIDIA/Megatron-LM optimizer/clip_grads.py (semantics, section 8.2)",
       .summary = "each rank clips by its own term of the norm, which nothing sums over tp",
       .visible_when = "tp > 1",
       .edit = clip_by_own_norm},
  };
}

}  // namespace lockstep::sim
