// A training step of tiny-dense on one GPU, one rank: beside it stands torch_step.py.
#include <benchmark/benchmark.h>

#include "core/config/presets.h"
#include "core/ops/cuda/kernels.h"
#include "core/parallel/communicators.h"
#include "core/tensor/cuda/cuda_device.h"
#include "core/train/trainer.h"

namespace lockstep {
namespace {

// A rank that is alone connects nothing.
class NoTransport : public Transport {
 public:
  Support supports(const CallType&) const override { return {}; }
  std::unique_ptr<Communicator> connect(Rank, const Group&) override { return nullptr; }
};

Case case_of(Precision precision) {
  Case c = preset_case("tiny-dense");
  c.recipe.dtype = precision;
  return c;
}

struct LoneRank {
  explicit LoneRank(Precision precision) : c(case_of(precision)) {}

  RankContext context() {
    return {.rank = Rank{0},
            .mesh = mesh,
            .ops = {.device = device, .kernels = kernels, .dtype = dtype_of(c.recipe.dtype)},
            .communicators = communicators,
            .mappings = plans.mappings};
  }

  Gpu gpu{0};
  CudaDevice device{gpu};
  KernelTable kernels = cuda_kernels();
  Case c;
  Plans plans = make_plans(c);
  Mesh mesh{c.layout};
  NoTransport transport;
  Communicators communicators{transport, mesh, Rank{0}};
};

// As in a trial: every tensor that a check looks at is read back.
void BM_StepOnCuda(benchmark::State& state) {
  LoneRank rank(static_cast<Precision>(state.range(0)));
  const RankContext context = rank.context();
  Trainer trainer(context, rank.c, rank.plans);
  std::int64_t step = 0;
  trainer.run_step(step++);
  for (auto _ : state) {
    benchmark::DoNotOptimize(trainer.run_step(step++));
    rank.device.finish();
  }
}

void each_precision(benchmark::internal::Benchmark* bench) {
  bench->ArgName("f64_f32_bf16");
  for (const Precision precision : {Precision::kF64, Precision::kF32, Precision::kBF16}) {
    bench->Arg(static_cast<std::int64_t>(precision));
  }
  bench->Unit(benchmark::kMillisecond)->UseRealTime();
}

BENCHMARK(BM_StepOnCuda)->Apply(each_precision);

}  // namespace
}  // namespace lockstep
