// One case from start to verdict, as a worker that is warm runs it.
#include <benchmark/benchmark.h>

#include <string>

#include "core/config/presets.h"
#include "matrix/sweep/run_case.h"

namespace lockstep::matrix {
namespace {

Case case_of(const benchmark::State& state) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = state.range(0);
  c.layout.dp = state.range(1);
  return c;
}

void expect_pass(benchmark::State& state, const CaseResult& result) {
  if (result.verdict != Verdict::kPass) state.SkipWithError(result.reason.c_str());
}

// tp and dp are the arguments. The worker has seen another layout of this model before.
void BM_CaseWithItsReferenceCached(benchmark::State& state) {
  const Case c = case_of(state);
  CaseRunner runner{RunOptions{}};
  expect_pass(state, runner.run("bench", c));
  for (auto _ : state) expect_pass(state, runner.run("bench", c));
}

// Each case has a seed of its own.
void BM_CaseWithANewReference(benchmark::State& state) {
  Case c = case_of(state);
  CaseRunner runner{RunOptions{}};
  for (auto _ : state) {
    ++c.recipe.seed;
    expect_pass(state, runner.run("bench", c));
  }
}

void BM_CaseOnThreads(benchmark::State& state) {
  const Case c = case_of(state);
  RunOptions options;
  options.ranks = simulated_ranks(sim::RankHost::kThreads);
  CaseRunner runner{options};
  for (auto _ : state) expect_pass(state, runner.run("bench", c));
}

BENCHMARK(BM_CaseWithItsReferenceCached)
    ->Args({1, 1})
    ->Args({8, 1})
    ->Args({4, 2})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CaseWithANewReference)
    ->Args({1, 1})
    ->Args({8, 1})
    ->Args({4, 2})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CaseOnThreads)->Args({8, 1})->Args({4, 2})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lockstep::matrix
