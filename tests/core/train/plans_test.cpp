// All plans of a case as one text: equal for equal behaviour, different where a field matters.
#include "core/train/plans.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "core/config/presets.h"

namespace lockstep {
namespace {

std::string text_of(const Case& c) { return to_text(make_plans(c)); }

TEST(Plans, AreAPureFunctionOfTheCase) {
  const Case c = preset_case("tiny-linear");
  EXPECT_EQ(text_of(c), text_of(c));
}

TEST(Plans, DoNotKnowTheStepApi) {
  Case c = preset_case("tiny-linear");
  c.recipe.step_api = StepApi::kSplit;
  EXPECT_EQ(text_of(c), text_of(preset_case("tiny-linear")));
}

TEST(Plans, DoNotKnowTheSchedule) {
  Case c = preset_case("tiny-linear");
  c.recipe.schedule_seed += 1;
  EXPECT_EQ(text_of(c), text_of(preset_case("tiny-linear")));
}

TEST(Plans, WithoutDataRanksOverlapChangesNothing) {
  Case c = preset_case("tiny-linear");
  c.recipe.overlap = {"grad"};
  EXPECT_EQ(text_of(c), text_of(preset_case("tiny-linear")));
}

// `name` is a word for the test's name.
struct CaseChange {
  std::string name;
  std::function<void(Case&)> change;
};

class DecidingField : public testing::TestWithParam<CaseChange> {};

TEST_P(DecidingField, ChangesTheText) {
  Case c = preset_case("tiny-linear");
  GetParam().change(c);
  EXPECT_NE(text_of(c), text_of(preset_case("tiny-linear")));
}

void use_the_other_loss_norm(Case& c) {
  const bool is_token = c.recipe.loss_norm == LossNorm::kToken;
  c.recipe.loss_norm = is_token ? LossNorm::kMicroBatch : LossNorm::kToken;
}

std::vector<CaseChange> case_changes() {
  return {
      {"tp", [](Case& c) { c.layout.tp = 2; }},
      {"dp", [](Case& c) { c.layout.dp = 2; }},
      {"cp", [](Case& c) { c.layout.cp = 2; }},
      {"packing", [](Case& c) { c.recipe.packing = true; }},
      {"dropout", [](Case& c) { c.recipe.dropout = 0.5; }},
      {"loss_values", [](Case& c) { c.recipe.loss_values = 2; }},
      {"forward_only", [](Case& c) { c.recipe.forward_only = true; }},
      {"seed", [](Case& c) { c.recipe.seed += 1; }},
      {"lr", [](Case& c) { c.recipe.lr *= 2.0; }},
      {"bucket_elements", [](Case& c) { c.recipe.bucket_elements = 1; }},
      {"loss_norm", use_the_other_loss_norm},
      {"optimizer", [](Case& c) { c.recipe.optimizer = Optimizer::kAdamW; }},
      {"dtype", [](Case& c) { c.recipe.dtype = Precision::kBF16; }},
      {"weight_decay", [](Case& c) { c.recipe.weight_decay = 0.5; }},
      {"clip", [](Case& c) { c.recipe.clip = 0.5; }},
      {"label_smoothing", [](Case& c) { c.recipe.label_smoothing = 0.1; }},
      {"bias", [](Case& c) { c.model.bias = true; }},
  };
}

std::string name_of_change(const testing::TestParamInfo<CaseChange>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Plans, DecidingField, testing::ValuesIn(case_changes()), name_of_change);

// Of these, a model with attention.
class DecidingFieldOfAttention : public testing::TestWithParam<CaseChange> {};

Case context_case() {
  Case c = preset_case("tiny-context");
  c.layout.cp = 4;
  c.layout.cp_comm = CpComm::kAllToAllP2p;
  c.layout.cp_inner = 2;
  return c;
}

TEST_P(DecidingFieldOfAttention, ChangesTheText) {
  Case c = context_case();
  GetParam().change(c);
  EXPECT_NE(text_of(c), text_of(context_case()));
}

std::vector<CaseChange> changes_of_attention() {
  return {
      {"p2p", [](Case& c) { c.layout.cp_comm = CpComm::kP2p; }},
      {"all_gather", [](Case& c) { c.layout.cp_comm = CpComm::kAllGather; }},
      {"a2a", [](Case& c) { c.layout.cp_comm = CpComm::kAllToAll; }},
      {"cp", [](Case& c) { c.layout.cp = 8; }},
      {"sink", [](Case& c) { c.model.attention_sink = true; }},
      {"window", [](Case& c) { c.model.sliding_window = 3; }},
      {"packing", [](Case& c) { c.recipe.packing = true; }},
      {"dropout", [](Case& c) { c.recipe.dropout = 0.5; }},
  };
}

INSTANTIATE_TEST_SUITE_P(Plans,
                         DecidingFieldOfAttention,
                         testing::ValuesIn(changes_of_attention()),
                         name_of_change);

TEST(Plans, ForwardOnlyRunsHaveNoGradientsToKeepSumOrApply) {
  Case c = preset_case("tiny-dense");
  c.layout.tp = c.layout.dp = 2;
  c.recipe.forward_only = true;
  const Plans plans = make_plans(c);
  EXPECT_TRUE(plans.buckets.buckets.empty());
  EXPECT_TRUE(plans.update.entries.empty());
  EXPECT_TRUE(plans.accumulation.sums.empty());
  EXPECT_EQ(to_text(plans.finalize),
            "finalize.totals_sum: sum totals over dp_cp\n"
            "finalize.scale: scale by targets factor 1\n");
}

// A setup with every kind of entry.
Plans full_plans() {
  Case c = preset_case("tiny-dense");
  c.layout.tp = 4;
  c.layout.cp = 2;
  c.layout.dp = 3;
  c.recipe.packing = true;
  c.recipe.dropout = 0.5;
  c.recipe.overlap = {"grad"};
  c.recipe.bucket_elements = 3000;
  return make_plans(c);
}

FinalizeEntry& entry_of(Plans& plans, FinalizeAction action) {
  for (FinalizeEntry& entry : plans.finalize.entries) {
    if (entry.action == action) return entry;
  }
  throw std::logic_error("the plans lack an action that the tests edit");
}

ProbeEntry& single_of(Plans& plans) {
  for (ProbeEntry& entry : plans.probes.entries) {
    if (!entry.planted.empty()) return entry;
  }
  throw std::logic_error("the plans lack a probe with a planted element");
}

struct PlanEdit {
  std::string name;
  std::function<void(Plans&)> edit;
};

class ActingField : public testing::TestWithParam<PlanEdit> {};

TEST_P(ActingField, ShowsInTheText) {
  Plans edited = full_plans();
  GetParam().edit(edited);
  EXPECT_NE(to_text(edited), to_text(full_plans()));
}

std::vector<PlanEdit> edits_before_backward() {
  return {
      {"activations", [](Plans& p) { p.activations.pop_back(); }},
      {"init_kind", [](Plans& p) { p.init.entries[1].kind = InitKind::kWeight; }},
      {"init_parameter", [](Plans& p) { p.init.entries[1].parameter = {4}; }},
      {"init_seed", [](Plans& p) { p.init.entries[1].seed += 1; }},
      {"init_seed_axis", [](Plans& p) { p.init.entries[1].seed_axis = Axis::kTp; }},
      {"init_part", [](Plans& p) { p.init.entries[2].part = 0; }},
      {"init_fan_in", [](Plans& p) { p.init.entries[2].fan_in += 1; }},
      {"init_cut", [](Plans& p) { p.init.entries[2].cut->axis = Axis::kDp; }},
      {"batch_num_micro_batches", [](Plans& p) { p.batch.num_micro_batches += 1; }},
      {"batch_micro_batch", [](Plans& p) { p.batch.micro_batch += 1; }},
      {"batch_micro_batch_stride", [](Plans& p) { p.batch.micro_batch_stride += 1; }},
      {"batch_dp_stride", [](Plans& p) { p.batch.dp_stride = 0; }},
      {"batch_ids", [](Plans& p) { p.batch.ids.axis = Axis::kDp; }},
      {"batch_labels", [](Plans& p) { p.batch.labels.num_parts = 1; }},
      {"batch_weights", [](Plans& p) { p.batch.weights.order = ChunkOrder::kContiguous; }},
      {"batch_positions", [](Plans& p) { p.batch.positions.order = ChunkOrder::kFirst; }},
      {"batch_rows", [](Plans& p) { p.batch.rows.multiple = 2; }},
      {"batch_shift", [](Plans& p) { p.batch.shift = LabelShift::kAfterCut; }},
      {"batch_padding_weight", [](Plans& p) { p.batch.padding_weight = 1.0; }},
      {"cut_axis", [](Plans& p) { p.batch.weights.axis = Axis::kDp; }},
      {"cut_num_parts", [](Plans& p) { p.batch.weights.num_parts += 1; }},
      {"cut_multiple", [](Plans& p) { p.batch.weights.multiple += 1; }},
      {"cut_rounds_up", [](Plans& p) { p.batch.weights.rounds_up = false; }},
      {"cut_padding", [](Plans& p) { p.batch.weights.padding = PaddingPlace::kBehindSample; }},
      {"cut_unit", [](Plans& p) { p.batch.weights.unit = CutUnit::kSample; }},
      {"mapping_variant",
       [](Plans& p) { p.mappings.of(MappingKind::kReduce).name = "a wrong variant"; }},
      {"mapping_enter", [](Plans& p) { p.mappings.enter = MappingKind::kGatherRows; }},
      {"mapping_row_bias", [](Plans& p) { p.mappings.row_bias = RowBias::kBeforeLeaving; }},
      {"mapping_leave", [](Plans& p) { p.mappings.leave = MappingKind::kReduceScatterRows; }},
      {"mapping_variant_over_cp",
       [](Plans& p) { p.mappings.of(MappingKind::kGatherKeys).name = "a wrong variant"; }},
      {"loss_values", [](Plans& p) { p.loss.values = 2; }},
      {"loss_count_group", [](Plans& p) { p.loss.count_group = GroupKind::kCp; }},
      {"loss_divisor", [](Plans& p) { p.loss.divisor = LossDivisor::kMicroBatchTargets; }},
      {"loss_factor", [](Plans& p) { p.loss.factor = 0.5; }},
      {"loss_reported", [](Plans& p) { p.loss.reported = ReportedLoss::kScaled; }},
  };
}

std::vector<PlanEdit> edits_of_the_model() {
  return {
      {"heads_num_queries", [](Plans& p) { p.heads.num_queries += 1; }},
      {"heads_num_kv", [](Plans& p) { p.heads.num_kv += 1; }},
      {"heads_group_queries", [](Plans& p) { p.heads.group_queries += 1; }},
      {"heads_group", [](Plans& p) { p.heads.sharers[1].group = 1; }},
      {"heads_first_query", [](Plans& p) { p.heads.sharers[1].first_query = 0; }},
      {"cross_entropy_width", [](Plans& p) { p.cross_entropy.width += 1; }},
      {"cross_entropy_stride", [](Plans& p) { p.cross_entropy.stride = 0; }},
      {"cross_entropy_num_real", [](Plans& p) { p.cross_entropy.num_real += 1; }},
      {"cross_entropy_max_group", [](Plans& p) { p.cross_entropy.max_group = {}; }},
      {"cross_entropy_sum_group", [](Plans& p) { p.cross_entropy.sums[0].group = GroupKind::kDp; }},
      {"cross_entropy_sum_first", [](Plans& p) { p.cross_entropy.sums[0].first = 1; }},
      {"cross_entropy_sum_count", [](Plans& p) { p.cross_entropy.sums[0].count = 2; }},
      {"cross_entropy_smoothing_weight", [](Plans& p) { p.cross_entropy.smoothing.weight += 0.1; }},
      {"cross_entropy_smoothing_vocabulary",
       [](Plans& p) { p.cross_entropy.smoothing.vocabulary += 1; }},
  };
}

std::vector<PlanEdit> edits_of_attention() {
  return {
      {"context_is_whole", [](Plans& p) { p.context.is_whole = true; }},
      {"context_heads_group", [](Plans& p) { p.context.heads_group = GroupKind::kCpInner; }},
      {"context_keys_group", [](Plans& p) { p.context.keys_group = GroupKind::kCp; }},
      {"context_without_ring", [](Plans& p) { p.context.ring = {}; }},
      {"context_window", [](Plans& p) { p.context.window = 3; }},
      {"context_uses_sink", [](Plans& p) { p.context.uses_sink = true; }},
      {"context_keeps_documents_apart", [](Plans& p) { p.context.keeps_documents_apart = false; }},
      {"context_tokens", [](Plans& p) { p.context.tokens.rounds_up = false; }},
      {"ring_group", [](Plans& p) { p.context.ring->group = GroupKind::kCpOuter; }},
      {"ring_forward", [](Plans& p) { p.context.ring->forward.pop_back(); }},
      {"ring_backward", [](Plans& p) { p.context.ring->backward.pop_back(); }},
      {"ring_label", [](Plans& p) { p.context.ring->forward[1].label = "forward.ring9"; }},
      {"ring_owner", [](Plans& p) { p.context.ring->forward[1].owner = 0; }},
      {"ring_uses_own_keys", [](Plans& p) { p.context.ring->backward[1].uses_own_keys = true; }},
      {"ring_passes_keys", [](Plans& p) { p.context.ring->forward[1].passes_keys = true; }},
      {"ring_passes_gradients",
       [](Plans& p) { p.context.ring->backward[1].passes_gradients = false; }},
      {"dropout_probability", [](Plans& p) { p.dropout.probability = 0.25; }},
      {"dropout_default_seed", [](Plans& p) { p.dropout.default_stream.seed += 1; }},
      {"dropout_tensor_parallel_seed_axis",
       [](Plans& p) { p.dropout.tensor_parallel_stream.seed_axis = Axis::kTp; }},
      {"dropout_expert_index", [](Plans& p) { p.dropout.expert_stream.index = MaskIndex::kLocal; }},
      {"dropout_residual", [](Plans& p) { p.dropout.residual = RandomStream::kTensorParallel; }},
      {"dropout_attention", [](Plans& p) { p.dropout.attention = RandomStream::kDefault; }},
      {"dropout_experts", [](Plans& p) { p.dropout.experts = RandomStream::kDefault; }},
  };
}

std::vector<PlanEdit> edits_of_gradient_sums() {
  return {
      {"bucket_offset", [](Plans& p) { p.buckets.buckets[0].slots[0].offset += 64; }},
      {"accumulation_keep", [](Plans& p) { p.accumulation.micro_batches[1].keep = 0.0; }},
      {"accumulation_adds", [](Plans& p) { p.accumulation.micro_batches[1].adds = false; }},
      {"accumulation_starts_sums",
       [](Plans& p) { p.accumulation.micro_batches[1].starts_sums = true; }},
      {"overlap_bucket", [](Plans& p) { p.accumulation.sums[0].bucket = {1}; }},
      {"overlap_group", [](Plans& p) { p.accumulation.sums[0].group = GroupKind::kTp; }},
      {"overlap_after", [](Plans& p) { p.accumulation.sums[0].after.pop_back(); }},
      {"finalize_action",
       [](Plans& p) {
         entry_of(p, FinalizeAction::kScaleByTargets).action = FinalizeAction::kScale;
       }},
      {"finalize_bucket", [](Plans& p) { entry_of(p, FinalizeAction::kWaitBucket).bucket = {1}; }},
      {"finalize_group",
       [](Plans& p) { entry_of(p, FinalizeAction::kSumParameter).group = GroupKind::kDp; }},
      {"finalize_parameter",
       [](Plans& p) { entry_of(p, FinalizeAction::kSumParameter).parameter = {1}; }},
      {"finalize_group_of_totals",
       [](Plans& p) { entry_of(p, FinalizeAction::kSumTotals).group = GroupKind::kDp; }},
      {"finalize_factor",
       [](Plans& p) { entry_of(p, FinalizeAction::kScaleByTargets).factor = 0.5; }},
  };
}

std::vector<PlanEdit> edits_after_finalisation() {
  return {
      {"count_start", [](Plans& p) { p.gradient_norm.start = 1.0; }},
      {"count_copies", [](Plans& p) { p.gradient_norm.entries[1].copies = {}; }},
      {"count_real_rows", [](Plans& p) { p.gradient_norm.entries[0].real->full_size += 1; }},
      {"count_parameter", [](Plans& p) { p.gradient_norm.entries[0].parameter = {1}; }},
      {"count_group", [](Plans& p) { p.gradient_norm.sums[0].group = GroupKind::kWorld; }},
      {"zeros_sums", [](Plans& p) { p.gradient_zeros.sums.clear(); }},
      {"parameter_norm_entries", [](Plans& p) { p.parameter_norm.entries.pop_back(); }},
      {"clip_max_norm", [](Plans& p) { p.clip.entries[0].max_norm *= 2.0; }},
      {"clip_eps", [](Plans& p) { p.clip.entries[0].eps = 0.0; }},
      {"clip_entries", [](Plans& p) { p.clip.entries.clear(); }},
      {"update_optimizer", [](Plans& p) { p.update.state.optimizer = Optimizer::kSgd; }},
      {"update_masters", [](Plans& p) { p.update.state.masters = true; }},
      {"update_moments", [](Plans& p) { p.update.state.moments = false; }},
      {"update_first_update", [](Plans& p) { p.update.first_update = 0; }},
      {"update_parameter", [](Plans& p) { p.update.entries[0].parameter = {1}; }},
      {"update_lr", [](Plans& p) { p.update.entries[0].lr *= 2.0; }},
      {"update_weight_decay", [](Plans& p) { p.update.entries[0].weight_decay = 0.0; }},
      {"update_beta1", [](Plans& p) { p.update.entries[0].beta1 = 0.0; }},
      {"update_beta2", [](Plans& p) { p.update.entries[0].beta2 = 0.0; }},
      {"update_eps", [](Plans& p) { p.update.entries[0].eps = 0.0; }},
      {"probe_background", [](Plans& p) { p.probes.entries[0].background = 0.0; }},
      {"filled_parameter", [](Plans& p) { p.probes.entries[1].filled->parameter = {3}; }},
      {"filled_value", [](Plans& p) { p.probes.entries[1].filled->value = 2.0; }},
      {"planted_parameter", [](Plans& p) { single_of(p).planted[0].parameter = {3}; }},
      {"planted_element", [](Plans& p) { single_of(p).planted[0].element += 1; }},
      {"planted_value", [](Plans& p) { single_of(p).planted[0].value = 2.0; }},
  };
}

TEST(Plans, HowACountIsSummedShowsWhereOneIs) {
  Case c = context_case();
  c.recipe.loss_norm = LossNorm::kMicroBatch;
  Plans in_place = make_plans(c);
  in_place.loss.count_reduction = CountReduction::kInPlace;
  EXPECT_NE(to_text(in_place), text_of(c));
}

std::string name_of_edit(const testing::TestParamInfo<PlanEdit>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(BeforeBackward,
                         ActingField,
                         testing::ValuesIn(edits_before_backward()),
                         name_of_edit);
INSTANTIATE_TEST_SUITE_P(OfTheModel,
                         ActingField,
                         testing::ValuesIn(edits_of_the_model()),
                         name_of_edit);
INSTANTIATE_TEST_SUITE_P(OfAttention,
                         ActingField,
                         testing::ValuesIn(edits_of_attention()),
                         name_of_edit);
INSTANTIATE_TEST_SUITE_P(GradientSums,
                         ActingField,
                         testing::ValuesIn(edits_of_gradient_sums()),
                         name_of_edit);
INSTANTIATE_TEST_SUITE_P(AfterFinalisation,
                         ActingField,
                         testing::ValuesIn(edits_after_finalisation()),
                         name_of_edit);

}  // namespace
}  // namespace lockstep
