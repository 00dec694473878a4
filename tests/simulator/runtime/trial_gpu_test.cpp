// Training on a GPU is the CPU's but for rounding, gives the same bits each time, and goes wrong in
// the same way: in every precision, order of sums, mode of completion and on both hosts.
#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "core/config/presets.h"
#include "core/ops/cpu/kernels.h"
#include "core/ops/cuda/kernels.h"
#include "core/tensor/cuda/gpu.h"
#include "simulator/defects/defect.h"
#include "simulator/defects/trial_setup.h"
#include "simulator/runtime/rank_program.h"
#include "simulator/runtime/trial.h"
#include "tests/simulator/runtime/trial_numbers.h"

namespace lockstep::test {
namespace {

using sim::RankHost;
using sim::TrialResult;

constexpr double kF64Bound = 1e-10;

Case dense_case(Precision dtype = Precision::kF64) {
  Case c = preset_case("tiny-dense");
  c.layout.tp = 2;
  c.layout.dp = 2;
  c.recipe.dtype = dtype;
  return c;
}

// Buckets are summed while the next gradients are computed, and waited for at the end.
Case overlapped_case() {
  Case c = dense_case();
  c.recipe.overlap = {"grad"};
  c.recipe.bucket_elements = 4000;
  return c;
}

void expect_near(const std::vector<NamedNumbers>& found,
                 const std::vector<NamedNumbers>& wanted,
                 double bound,
                 const std::string& what) {
  ASSERT_FALSE(wanted.empty());
  const Distance apart = distance(found, wanted);
  std::cout << what << ": " << apart.relative << " at most, " << apart.where << "\n";
  EXPECT_LE(apart.relative, bound) << what << ": " << apart.where;
}

class TrialOnGpu : public testing::Test {
 protected:
  TrialResult on_gpu(const Case& c, RankHost host = RankHost::kFibers) {
    TrialResult trial = sim::run_trial(c, {.host = host, .gpu = &gpu_});
    for (const auto& finding : trial.cluster.findings) ADD_FAILURE() << finding.message;
    return trial;
  }

  static TrialResult on_cpu(const Case& c) {
    TrialResult trial = sim::run_trial(c, {});
    for (const auto& finding : trial.cluster.findings) ADD_FAILURE() << finding.message;
    return trial;
  }

  Gpu gpu_{0};
};

TEST_F(TrialOnGpu, InDoublePrecisionIsTheCpusToTenDigits) {
  const Case c = dense_case();
  expect_near(numbers_of(on_gpu(c).ranks), numbers_of(on_cpu(c).ranks), kF64Bound, "f64");
}

// The same places are rounded; a sum in another order may fall on the other side of a tie.
TEST_F(TrialOnGpu, InLowerPrecisionStartsAsTheCpusToARounding) {
  const Case single = dense_case(Precision::kF32);
  expect_near(
      first_numbers_of(on_gpu(single).ranks), first_numbers_of(on_cpu(single).ranks), 1e-4, "f32");
  const Case half = dense_case(Precision::kBF16);
  expect_near(
      first_numbers_of(on_gpu(half).ranks), first_numbers_of(on_cpu(half).ranks), 0.05, "bf16");
}

TEST_F(TrialOnGpu, GivesTheSameBitsAgainAndOnThreads) {
  for (const Precision dtype : {Precision::kF64, Precision::kF32, Precision::kBF16}) {
    const Case c = dense_case(dtype);
    const std::string digest = on_gpu(c).digest;
    EXPECT_EQ(on_gpu(c).digest, digest) << "precision " << static_cast<int>(dtype);
    EXPECT_EQ(on_gpu(c, RankHost::kThreads).digest, digest)
        << "precision " << static_cast<int>(dtype) << " on threads";
  }
}

TEST_F(TrialOnGpu, FollowsTheCpuInEveryOrderOfSumsAndShowsNoModeOfCompletion) {
  Case c = dense_case();
  c.layout.dp = 3;  // of two terms there is one order
  for (const ReductionOrder order : {ReductionOrder::kRank,
                                     ReductionOrder::kRing,
                                     ReductionOrder::kTree,
                                     ReductionOrder::kShuffled}) {
    c.recipe.reduction_order = order;
    c.recipe.completion = Completion::kEarly;
    const TrialResult early = on_gpu(c);
    expect_near(numbers_of(early.ranks),
                numbers_of(on_cpu(c).ranks),
                kF64Bound,
                "order " + std::to_string(static_cast<int>(order)));
    for (const Completion completion : {Completion::kLate, Completion::kSeeded}) {
      c.recipe.completion = completion;
      EXPECT_EQ(on_gpu(c).digest, early.digest)
          << "order " << static_cast<int>(order) << ", completion " << static_cast<int>(completion);
    }
  }
}

TEST_F(TrialOnGpu, TheSchedulersSeedDoesNotShow) {
  Case c = overlapped_case();
  const std::string digest = on_gpu(c).digest;
  for (c.recipe.schedule_seed = 1; c.recipe.schedule_seed <= 5; ++c.recipe.schedule_seed) {
    EXPECT_EQ(on_gpu(c).digest, digest) << "seed " << c.recipe.schedule_seed;
  }
}

TEST_F(TrialOnGpu, ADefectDoesWhatItDoesOnTheCpu) {
  for (const std::string id :
       {"T20-reduced-too-early", "T20-reduced-at-every-micro-batch", "B27-dp-reduction-missing"}) {
    Case c = overlapped_case();
    const std::vector<NamedNumbers> right = numbers_of(on_gpu(c).ranks);
    c.defects = {id};
    for (const Completion completion : {Completion::kEarly, Completion::kSeeded}) {
      c.recipe.completion = completion;
      const std::vector<NamedNumbers> found = numbers_of(on_gpu(c).ranks);
      expect_near(found, numbers_of(on_cpu(c).ranks), kF64Bound, id);
      if (completion == Completion::kEarly) {
        EXPECT_GT(distance(found, right).relative, 1e-3) << id << " changes nothing";
      }
    }
  }
}

// Without its waits the program reads buckets as they are: summed or not yet, as ranks came.
std::vector<NamedNumbers> train_without_waits(const Case& c, Gpu* gpu) {
  sim::TrialSetup setup =
      sim::make_edited_setup(c, gpu == nullptr ? cpu_kernels() : cuda_kernels());
  const std::size_t num_before = setup.plans.finalize.entries.size();
  std::erase_if(setup.plans.finalize.entries, [](const FinalizeEntry& entry) {
    return entry.action == FinalizeAction::kWaitBucket;
  });
  EXPECT_LT(setup.plans.finalize.entries.size(), num_before) << "there is no wait to take away";
  const Mesh mesh(c.layout);
  std::vector<RankResult> ranks(static_cast<std::size_t>(mesh.world()));
  const sim::ClusterOptions options{
      .completion = c.recipe.completion,
      .schedule_seed = static_cast<std::uint64_t>(c.recipe.schedule_seed),
      .gpu = gpu};
  sim::run_cluster(mesh, options, [&](sim::RankSeat& seat) {
    sim::run_rank_program(
        {.rank = seat.rank, .mesh = mesh, .c = c, .setup = setup, .device = seat.device},
        seat.transport,
        ranks[static_cast<std::size_t>(seat.rank.value)]);
  });
  return numbers_of(ranks);
}

TEST_F(TrialOnGpu, AWaitThatIsMissingSpoilsWhatItSpoilsOnTheCpu) {
  Case c = overlapped_case();
  bool any_is_wrong = false;
  for (const Completion completion : {Completion::kEarly, Completion::kLate, Completion::kSeeded}) {
    for (const std::int64_t seed : {0, 1, 2, 3}) {
      c.recipe.completion = completion;
      c.recipe.schedule_seed = seed;
      const std::vector<NamedNumbers> found = train_without_waits(c, &gpu_);
      expect_near(found,
                  train_without_waits(c, nullptr),
                  kF64Bound,
                  "completion " + std::to_string(static_cast<int>(completion)) + ", seed " +
                      std::to_string(seed));
      any_is_wrong |= distance(found, numbers_of(on_cpu(c).ranks)).relative > 1e-3;
    }
  }
  EXPECT_TRUE(any_is_wrong) << "no missing wait has spoilt anything";
}

}  // namespace
}  // namespace lockstep::test
