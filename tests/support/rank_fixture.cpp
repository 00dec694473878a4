// Rank contexts for tests.
#include "tests/support/rank_fixture.h"

#include "core/base/random.h"
#include "core/ops/cpu/kernels.h"
#include "core/ops/host.h"

namespace lockstep::test {

sim::ClusterReport spawn_contexts(const Layout& layout,
                                  const std::function<void(const RankContext&)>& program,
                                  const sim::ClusterOptions& options) {
  const KernelTable kernels = cpu_kernels();
  const MappingTable mappings = plan_mappings(layout);
  return spawn_ranks(
      layout,
      [&](TestRank& rank) {
        const Communicators communicators(rank.transport, rank.mesh, rank.rank);
        const RankContext context{
            .rank = rank.rank,
            .mesh = rank.mesh,
            .ops = {.device = rank.device, .kernels = kernels, .dtype = DType::kF64},
            .communicators = communicators,
            .mappings = mappings};
        program(context);
      },
      options);
}

Tensor known_tensor(const RankContext& context, const Shape& shape, std::uint64_t stream) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    numbers.push_back(random_signed(2, stream, static_cast<std::uint64_t>(i)));
  }
  return reals_from_host(context.ops, context.ops.dtype, numbers, shape, "test.known");
}

}  // namespace lockstep::test
