// Optimizer updates on CUDA against the CPU: every operation is rounded alike, so the bits are the
// same over several steps.
#include <cmath>

#include "core/ops/optimizer.h"
#include "tests/core/ops/cuda/gpu_fixture.h"

namespace lockstep {
namespace {

using test::GpuOpTest;
using test::kRealTypes;
using test::OpSide;
using test::Twin;
using test::type_name;

constexpr int kSteps = 3;
// No multiples of a block, and more than one pass of the largest grid.
constexpr std::int64_t kSizes[] = {1, 255, 1000, 4096 * 256 + 12345};

class CudaOptimizer : public GpuOpTest {
 protected:
  // Its own memory where the types differ, as in training.
  Twin parameter_of(const Twin& master) {
    if (master.cpu.dtype == GetParam()) return master;
    return random(master.cpu.shape);
  }
  Twin random_squares(const Shape& shape) {
    std::vector<double> numbers = draw(shape.num_elements());
    for (double& number : numbers) number *= number;
    return reals(cpu().main_dtype(), numbers, shape);
  }
  void expect_alike(const Twin& tensor, const std::string& what) {
    EXPECT_TRUE(same_bits(tensor)) << what;
    EXPECT_TRUE(guards_stand(tensor)) << what;
  }
};

TEST_P(CudaOptimizer, SgdIsTheCpusOnRandomInput) {
  for (const std::int64_t size : kSizes) {
    const Twin master = random_main({size});
    const Twin parameter = parameter_of(master);
    for (int step = 0; step < kSteps; ++step) {
      const Twin gradient = random_main({size});
      on_both([&](const OpSide& on) {
        sgd_update(on.ops,
                   {.gradient = on.of(gradient),
                    .master = on.of(master),
                    .parameter = on.of(parameter),
                    .lr = 0.03,
                    .weight_decay = 0.1},
                   "test");
        return 0;
      });
    }
    expect_alike(master, "master of " + std::to_string(size));
    expect_alike(parameter, "parameter of " + std::to_string(size));
  }
}

TEST_P(CudaOptimizer, AdamwIsTheCpusOnRandomInput) {
  for (const std::int64_t size : kSizes) {
    const Twin master = random_main({size});
    const Twin parameter = parameter_of(master);
    const Twin exp_avg = random_main({size});
    const Twin exp_avg_sq = random_squares({size});
    for (int step = 1; step <= kSteps; ++step) {
      const Twin gradient = random_main({size});
      on_both([&](const OpSide& on) {
        adamw_update(on.ops,
                     {.gradient = on.of(gradient),
                      .master = on.of(master),
                      .exp_avg = on.of(exp_avg),
                      .exp_avg_sq = on.of(exp_avg_sq),
                      .parameter = on.of(parameter),
                      .lr = 0.01,
                      .beta1 = 0.9,
                      .beta2 = 0.95,
                      .eps = 1e-8,
                      .weight_decay = 0.1,
                      .step = step},
                     "test");
        return 0;
      });
    }
    expect_alike(exp_avg, "exp_avg of " + std::to_string(size));
    expect_alike(exp_avg_sq, "exp_avg_sq of " + std::to_string(size));
    expect_alike(master, "master of " + std::to_string(size));
    expect_alike(parameter, "parameter of " + std::to_string(size));
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaOptimizer, kRealTypes, type_name);

}  // namespace
}  // namespace lockstep
