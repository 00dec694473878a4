// The loss check: by micro-batch, then over the global batch.
#include "simulator/checks/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/comm/mesh.h"
#include "simulator/checks/holdings.h"
#include "simulator/checks/scalars.h"
#include "simulator/checks/tally.h"

namespace lockstep::sim {
namespace {

// What one rank reports of a micro-batch.
struct Reported {
  Rank rank;
  const MicroBatchLoss* loss = nullptr;
};

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
    for (std::int64_t g = 0; g < num_micro; ++g) compare_micro_batch(step, g, oracle, measures);
    for (std::size_t rank = 0; rank < trial_.ranks.size(); ++rank) {
      if (step < trial_.ranks[rank].steps.size()) check_micro_batches(step, rank, num_micro);
    }
    compare_on_all_ranks({.name = "global loss",
                          .step = step,
                          .reference = oracle.loss,
                          .bound = measures.loss_bound,
                          .error = loss_error},
                         values_of(step, [](const StepResult& own) { return own.loss; }),
                         oracle.num_targets());
    compare_on_all_ranks({.name = "reported loss",
                          .step = step,
                          .reference = reported_loss(oracle),
                          .bound = measures.reported_loss_bound,
                          .error = loss_error},
                         values_of(step, [](const StepResult& own) { return own.reported_loss; }),
                         oracle.num_targets());
    compare_reported_targets(step, oracle);
    tally_.end_stage();
  }

 private:
  std::int64_t tp() const { return trial_.c.layout.tp; }
  std::int64_t cp() const { return trial_.c.layout.cp; }
  std::int64_t dp() const { return trial_.c.layout.dp; }
  std::int64_t dp_rank_of(Rank rank) const { return mesh_.coordinate(rank, Axis::kDp); }

  std::size_t place_of(std::int64_t tp_rank, std::int64_t cp_rank) const {
    return static_cast<std::size_t>(tp_rank * cp() + cp_rank);
  }

  // By place; without a loss where the rank reports none.
  std::vector<Reported> reported_of(std::size_t step, std::int64_t g) const {
    std::vector<Reported> reported(static_cast<std::size_t>(tp() * cp()));
    for (std::size_t i = 0; i < trial_.ranks.size(); ++i) {
      const Rank rank{static_cast<int>(i)};
      const std::vector<StepResult>& steps = trial_.ranks[i].steps;
      if (step >= steps.size() || dp_rank_of(rank) != g % dp()) continue;
      const MicroBatchLoss* const loss =
          find_micro_batch(steps[step], static_cast<std::size_t>(g / dp()), g);
      if (loss == nullptr) continue;
      reported[place_of(mesh_.coordinate(rank, Axis::kTp), mesh_.coordinate(rank, Axis::kCp))] = {
          .rank = rank, .loss = loss};
    }
    return reported;
  }

  void compare_micro_batch(std::size_t step,
                           std::int64_t g,
                           const OracleStep& oracle,
                           const StepMeasures& measures) {
    tally_.expect(2 * tp() + (cp() > 1 ? 2 : 1) * cp() * (tp() - 1));
    const std::vector<Reported> reported = reported_of(step, g);
    const auto index = static_cast<std::size_t>(g);
    const std::int64_t targets = oracle.targets[index];
    const Scalar scalar{.name = fmt::format("micro-batch {}", g),
                        .step = step,
                        .reference = oracle.micro_batch_losses[index],
                        .bound = measures.micro_batch_loss_bounds[index],
                        .error = loss_error};
    std::vector<RankValue> losses;
    for (std::int64_t tp_rank = 0; tp_rank < tp(); ++tp_rank) {
      RankValue loss;
      std::int64_t counted = 0;
      for (std::int64_t cp_rank = 0; cp_rank < cp(); ++cp_rank) {
        const Reported& own = reported[place_of(tp_rank, cp_rank)];
        if (own.loss == nullptr) break;
        loss.ranks.push_back(own.rank);
        loss.value += own.loss->loss_sum;
        counted += own.loss->targets;
      }
      if (static_cast<std::int64_t>(loss.ranks.size()) != cp()) continue;
      loss.value /= static_cast<double>(std::max<std::int64_t>(counted, 1));
      compare_targets(at_step(scalar.name, step), loss.ranks, counted, targets);
      losses.push_back(std::move(loss));
    }
    compare_with_reference(scalar, losses, with_targets(sizes_, targets), tally_);
    for (std::int64_t cp_rank = 0; cp_rank < cp(); ++cp_rank) {
      compare_over_tp(scalar, reported, cp_rank);
    }
  }

  // tp ranks have the same tokens. Counts that are no terms of a sum equal the reference's, or not.
  void compare_over_tp(const Scalar& scalar,
                       const std::vector<Reported>& reported,
                       std::int64_t cp_rank) {
    std::vector<RankValue> sums;
    std::vector<RankValue> counts;
    for (std::int64_t tp_rank = 0; tp_rank < tp(); ++tp_rank) {
      const Reported& own = reported[place_of(tp_rank, cp_rank)];
      if (own.loss == nullptr) continue;
      sums.push_back({.ranks = {own.rank}, .value = own.loss->loss_sum});
      counts.push_back({.ranks = {own.rank}, .value = static_cast<double>(own.loss->targets)});
    }
    compare_across_ranks(scalar, sums, tally_);
    if (cp() == 1) return;
    compare_across_ranks(
        {.name = "targets of " + scalar.name, .step = scalar.step}, counts, tally_);
  }

  void compare_targets(const std::string& where,
                       const std::vector<Rank>& ranks,
                       std::int64_t targets,
                       std::int64_t expected) {
    const double error = count_error(static_cast<double>(targets), static_cast<double>(expected));
    if (!tally_.counts(error, 0.0, 1)) return;
    tally_.add({.where = fmt::format("{}: {} targets, expected {}", where, targets, expected),
                .ranks = ranks,
                .error = error});
  }

  template <typename Value>
  std::vector<RankValue> values_of(std::size_t step, const Value& value) const {
    std::vector<RankValue> values;
    for (std::size_t rank = 0; rank < trial_.ranks.size(); ++rank) {
      const std::vector<StepResult>& steps = trial_.ranks[rank].steps;
      if (step >= steps.size()) continue;
      values.push_back({.ranks = {Rank{static_cast<int>(rank)}}, .value = value(steps[step])});
    }
    return values;
  }

  void compare_on_all_ranks(const Scalar& scalar,
                            std::span<const RankValue> values,
                            std::int64_t targets) {
    tally_.expect(2 * world_size(trial_.c.layout) - 1);
    compare_with_reference(scalar, values, with_targets(sizes_, targets), tally_);
    compare_across_ranks(scalar, values, tally_);
  }

  void compare_reported_targets(std::size_t step, const OracleStep& oracle) {
    tally_.expect(world_size(trial_.c.layout));
    const auto targets = [](const StepResult& own) {
      return static_cast<double>(own.reported_targets);
    };
    compare_with_reference({.name = "reported targets",
                            .step = step,
                            .reference = static_cast<double>(oracle.num_targets()),
                            .bound = 0.0,
                            .error = count_error},
                           values_of(step, targets),
                           sizes_,
                           tally_);
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
