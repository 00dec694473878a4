// Holds what every rank has of each tensor against the oracle, put together over the layout.
//
// Every holder is compared, not only the first: a bug on one replica does not hide behind another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/checks/check_result.h"
#include "simulator/checks/dealing.h"
#include "simulator/checks/hint.h"
#include "simulator/checks/holdings.h"
#include "simulator/checks/tally.h"

namespace lockstep::sim {

// What a tensor is compared with, and where it stands.
struct ComparedTensor {
  Yardstick against;
  std::size_t index = 0;  // in its list: tensors of one index are dealt alike
  std::size_t step = 0;
  std::optional<std::size_t> micro_batch = {};
  std::int64_t distance = 0;  // as of a Place
};

// Compares tensor by tensor. A place is a tensor; its ranks are those whose own values are wrong.
class TensorComparison {
 public:
  TensorComparison(const TrialResult& trial, std::string check);

  Tally& tally() { return tally_; }
  // Of hints; that of the trial's precision unless said.
  void set_tolerance(const HintTolerance& tolerance) { tolerance_ = tolerance; }
  // What a factor in the step at hand may come from, besides group sizes.
  void explain_with_targets(std::int64_t targets) {
    sizes_ = with_targets(sizes_of(trial_.c), targets);
  }
  CheckResult conclude() && { return std::move(tally_).conclude(); }

  // One comparison a shard. Those of ranks that lack the tensor are left out.
  void compare(std::span<const RankShard> shards, const ComparedTensor& tensor);

 private:
  void measure_deviations(const Dealing& dealing,
                          std::span<const RankShard> shards,
                          const std::vector<double>& reference);

  const TrialResult& trial_;
  std::vector<NamedSize> sizes_;
  HintTolerance tolerance_;
  Tally tally_;
  Dealings dealings_;
  std::vector<double> deviations_;  // by element, the largest of all holders; kept for its memory
};

// Compares one kind of tensors: a comparison for each (step, tensor, rank that should hold it).
struct ComparedKind {
  TensorKind kind = TensorKind::kGradient;
  std::vector<OracleTensor> OracleStep::*reference = nullptr;
  std::vector<BlockMeasure> StepMeasures::*measures = nullptr;
  // Wrong ones may be off by any factor, which below f64 lies near a product of sizes by chance.
  bool is_by_any_factor = false;
};
CheckResult compare_tensors(const std::string& check,
                            const TrialResult& trial,
                            const MeasuredOracle& oracle,
                            const ComparedKind& kind);

}  // namespace lockstep::sim
