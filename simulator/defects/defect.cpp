// The table of defects.
#include "simulator/defects/defect.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/errors.h"
#include "core/config/fields.h"
#include "simulator/defects/edits.h"

namespace lockstep::sim {
namespace {

Tensor left_partial(const RankContext&, const CollectiveSite&, const Tensor& gradient) {
  return gradient;
}

void copy_without_backward_sum(const Case&, TrialSetup& setup) {
  MappingTable& table = setup.plans.mappings;
  replace(table,
          MappingKind::kCopy,
          {.name = "copy without backward sum",
           .forward = table.of(MappingKind::kCopy).forward,
           .backward = left_partial});
}

void dp_reduction_missing(const Case&, TrialSetup& setup) {
  drop_calls(setup, "finalize.dp_sum.");
  drop_calls(setup, "backward.dp_sum.");
}

void dp_reduction_twice(const Case&, TrialSetup& setup) { sum_buckets_again(setup.plans.finalize); }

// Each micro-batch is divided by its own count and all are averaged, as the other normalisation
// does.
void mean_of_micro_batch_means(const Case& c, TrialSetup& setup) {
  Case as_means = c;
  as_means.recipe.loss_norm = LossNorm::kMicroBatch;
  setup.plans.loss = plan_loss(as_means);
  setup.plans.finalize = plan_finalize(setup.plans.table, setup.plans.buckets, as_means);
}

void averaged_over_the_world(const Case& c, TrialSetup& setup) {
  const std::int64_t data_ranks = c.layout.dp * c.layout.cp;
  rescale(setup.plans.finalize,
          static_cast<double>(data_ranks) / static_cast<double>(world_size(c.layout)));
}

// A draw may leave few tokens without any target: with six micro-batches it does not.
constexpr std::string_view kAnyTarget =
    "(mask in [full, single, empty] || mask in [uneven, varying] && num_micro_batches * dp >= 6)";

// Unequal counts of targets among micro-batches: "empty" has targets in every third sample.
constexpr std::string_view kUnequalCounts =
    "(mask == single && num_micro_batches * dp > 1"
    " || mask == empty && micro_batch % 3 != 0 && num_micro_batches * dp > 2"
    " || mask in [uneven, varying] && num_micro_batches * dp >= 6)";

std::string both(std::string_view a, std::string_view b) {
  return std::string(a) + " && " + std::string(b);
}

const std::array<Defect, 5> kDefects = {{
    {.id = "B155-averaged-over-the-world",
     .source = "axolotl-ai-cloud/axolotl #3444",
     .summary = "gradients are divided by the world size where only the data-parallel ranks hold "
                "different samples",
     .visible_when = both("tp > 1", kAnyTarget),
     .edit = averaged_over_the_world},
    {.id = "B16-copy-without-backward-sum",
     .source = "bigcode-project/Megatron-LM #35",
     .summary = "the gradient of a tensor-parallel map's input stays a partial sum on each rank",
     .visible_when = both("tp > 1 && !sp", kAnyTarget),
     .edit = copy_without_backward_sum},
    {.id = "B27-dp-reduction-missing",
     .source = "pytorch/pytorch #154888",
     .summary =
         "gradients are never summed over the data-parallel ranks: each trains its own model",
     .visible_when = both("dp > 1", kAnyTarget),
     .edit = dp_reduction_missing},
    {.id = "B47-mean-of-micro-batch-means",
     .source = "pytorch/torchtitan #4167",
     .summary =
         "each micro-batch is divided by its own target count and all weigh the same where a "
         "mean over tokens is asked",
     .visible_when = both("loss_norm == token", kUnequalCounts),
     .edit = mean_of_micro_batch_means},
    {.id = "T21-dp-reduction-twice",
     .source = "NVIDIA/Megatron-LM finish_grad_sync, called twice in a step",
     .summary = "gradients that are already summed over the data-parallel ranks are summed again",
     .visible_when = both("dp > 1", kAnyTarget),
     .edit = dp_reduction_twice},
}};

}  // namespace

std::span<const Defect> defects() { return kDefects; }

const Defect& find_defect(std::string_view id) {
  std::vector<std::string> known;
  for (const Defect& defect : kDefects) {
    if (defect.id == id) return defect;
    known.push_back(defect.id);
  }
  const std::string nearest = nearest_name(id, known);
  throw UsageError(
      "unknown defect '" + std::string(id) + "'" +
      (nearest.empty() ? "; see 'lockstep list defects'" : "; did you mean '" + nearest + "'?"));
}

TrialSetup make_edited_setup(const Case& c) {
  TrialSetup setup = make_setup(c);
  for (const std::string& id : c.defects) find_defect(id).edit(c, setup);
  return setup;
}

}  // namespace lockstep::sim
