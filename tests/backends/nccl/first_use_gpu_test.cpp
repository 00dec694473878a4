// What is used for the first time in the midst of a trial: kernels are loaded and cuBLAS takes
// memory, for which a thread waits for all that runs on the GPU, while other groups' calls run.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/ops/cuda/kernels.h"
#include "core/ops/elementwise.h"
#include "core/ops/host.h"
#include "core/ops/linear.h"
#include "core/ops/norm.h"
#include "tests/support/device_memory.h"
#include "tests/support/nccl_ranks.h"

namespace lockstep::test {
namespace {

constexpr std::array kTypes{DType::kF64, DType::kF32, DType::kBF16};

Tensor ones(const OpContext& ops, const Shape& shape) {
  const std::vector<double> values(static_cast<std::size_t>(shape.num_elements()), 1.0);
  return reals_from_host(ops, ops.dtype, values, shape, "test.ones");
}

// Products of sizes that grow, of every type, and kernels that come later than they.
void compute(const TestRank& r, const KernelTable& kernels, int round) {
  const OpContext ops{.device = r.device,
                      .kernels = kernels,
                      .dtype = kTypes[static_cast<std::size_t>(round) % kTypes.size()]};
  const std::int64_t width = std::int64_t{8} << (round / 3);
  const Tensor x = ones(ops, {32, width});
  const Tensor y = linear(ops, x, ones(ops, {2 * width, width}));
  if (round < 3) return;
  const Tensor z = gated_silu(ops, y);
  if (round < 6) return;
  rms_norm(ops, z, ones(ops, {width}), 1e-6);
}

// The higher its group, the fewer rounds a rank computes: groups are at different places.
TEST(NcclFirstUse, OfKernelsAndOfCuBlasHoldsUpNoOtherGroupsCalls) {
  constexpr int kRounds = 12;
  const KernelTable kernels = cuda_kernels();
  for (const LayoutSizes& sizes : {LayoutSizes{.tp = 2, .dp = 4}, LayoutSizes{.tp = 2, .dp = 8}}) {
    const backends::TrialOutcome outcome = run_nccl_ranks(layout_of(sizes), [&](TestRank& r) {
      const auto tp = r.connect(GroupKind::kTp);
      const auto dp = r.connect(GroupKind::kDp);
      const Tensor sum = r.tensor({1.0});
      const CollectiveCall call{.label = "test.sum", .input = sum.buffer(), .output = sum.buffer()};
      for (int round = 0; round < kRounds; ++round) {
        run_call(*tp, call);
        if (round % (r.rank.value / 2 + 1) == 0) compute(r, kernels, round);
      }
      run_call(*dp, call);
      EXPECT_EQ(values_of(r.device, sum)[0], sizes.dp * double{1 << kRounds});
    });
    EXPECT_TRUE(outcome.findings.empty()) << to_text(outcome);
  }
}

}  // namespace
}  // namespace lockstep::test
