// The loss check: by micro-batch and over the global batch.
#include "simulator/checks/loss.h"

#include <fmt/format.h>

#include <cmath>
#include <span>

#include "core/comm/mesh.h"
#include "simulator/checks/holdings.h"
#include "simulator/checks/scalars.h"
#include "simulator/checks/tally.h"

namespace lockstep::sim {
namespace {

class LossComparison {
 public:
  explicit LossComparison(const TrialResult& trial)
      : trial_(trial), mesh_(trial.c.layout), sizes_(sizes_of(trial.c)), tally_("loss") {}

  Tally& tally() { return tally_; }
  CheckResult conclude() && { return std::move(tally_).conclude(); }

  void compare_step(std::size_t step, const MeasuredOracle& measured) {
    const OracleStep& oracle = measured.steps()[step];
    const StepMeasures& measures = measured.measures(step);
    const auto num_micro = static_cast<std::int64_t>(oracle.micro_batch_losses.size());
    const std::int64_t holders = num_holders(trial_.c) / trial_.c.layout.dp;
    for (std::int64_t g = 0; g < num_micro; ++g) {
      tally_.expect(2 * holders + holders - 1);
      compare_micro_batch(step, g, oracle, measures);
    }
    const std::int64_t world = world_size(trial_.c.layout);
    tally_.expect(world + world - 1);
    std::vector<RankValue> losses;
    for (std::size_t rank = 0; rank < trial_.ranks.size(); ++rank) {
      const std::vector<StepResult>& steps = trial_.ranks[rank].steps;
      if (step >= steps.size()) continue;
      losses.push_back({.rank = Rank{static_cast<int>(rank)}, .value = steps[step].loss});
      check_micro_batches(step, rank, num_micro);
    }
    compare({.name = "global loss",
             .step = step,
             .reference = oracle.loss,
             .bound = measures.loss_bound,
             .error = loss_error},
            losses,
            oracle.num_targets());
    tally_.end_stage();
  }

 private:
  void compare_micro_batch(std::size_t step,
                           std::int64_t g,
                           const OracleStep& oracle,
                           const StepMeasures& measures) {
    const auto index = static_cast<std::size_t>(g);
    const std::string name = fmt::format("micro-batch {}", g);
    std::vector<RankValue> losses;
    for (std::size_t rank = 0; rank < trial_.ranks.size(); ++rank) {
      const Rank holder{static_cast<int>(rank)};
      const std::vector<StepResult>& steps = trial_.ranks[rank].steps;
      if (step >= steps.size() || dp_rank_of(holder) != g % dp()) continue;
      const MicroBatchLoss* const loss =
          find_micro_batch(steps[step], static_cast<std::size_t>(g / dp()), g);
      if (loss == nullptr) continue;
      losses.push_back({.rank = holder, .value = loss->loss});
      compare_targets(at_step(name, step), holder, loss->targets, oracle.targets[index]);
    }
    compare({.name = name,
             .step = step,
             .reference = oracle.micro_batch_losses[index],
             .bound = measures.micro_batch_loss_bounds[index],
             .error = loss_error},
            losses,
            oracle.targets[index]);
  }

  void compare_targets(const std::string& where,
                       Rank rank,
                       std::int64_t targets,
                       std::int64_t expected) {
    const double error = std::abs(static_cast<double>(targets - expected));
    if (!tally_.counts(error, 0.0, 1)) return;
    tally_.add({.where = fmt::format("{}: {} targets, expected {}", where, targets, expected),
                .ranks = {rank},
                .error = error});
  }

  // dp rank d holds the micro-batches g = d mod dp, in order and each once.
  void check_micro_batches(std::size_t step, std::size_t rank, std::int64_t num_micro) {
    std::int64_t due = dp_rank_of(Rank{static_cast<int>(rank)});
    for (const MicroBatchLoss& loss : trial_.ranks[rank].steps[step].losses) {
      if (loss.global_micro_batch != due || due >= num_micro) {
        tally_.fail(fmt::format("rank {} reports micro-batch {} at step {}, where {} is due",
                                rank,
                                loss.global_micro_batch,
                                step,
                                due < num_micro ? std::to_string(due) : "none"));
        return;
      }
      due += dp();
    }
    if (due < num_micro) {
      tally_.fail(fmt::format("rank {} lacks micro-batch {} at step {}", rank, due, step));
    }
  }

  void compare(const Scalar& scalar, std::span<const RankValue> values, std::int64_t targets) {
    compare_with_reference(scalar, values, with_targets(sizes_, targets), tally_);
    compare_across_ranks(scalar, values, tally_);
  }

  std::int64_t dp() const { return trial_.c.layout.dp; }
  std::int64_t dp_rank_of(Rank rank) const { return mesh_.coordinate(rank, Axis::kDp); }

  const TrialResult& trial_;
  Mesh mesh_;
  std::vector<NamedSize> sizes_;
  Tally tally_;
};

}  // namespace

CheckResult check_loss(const TrialResult& trial, const MeasuredOracle& oracle) {
  LossComparison comparison(trial);
  const std::string misfit = steps_misfit_of(trial, oracle);
  if (!misfit.empty()) comparison.tally().fail(misfit);
  for (std::size_t step = 0; step < oracle.steps().size(); ++step) {
    comparison.compare_step(step, oracle);
  }
  return std::move(comparison).conclude();
}

}  // namespace lockstep::sim
