// What prepares attention's inputs, on CUDA against the CPU: copies and rotations, the same bits.
#include <numeric>

#include "core/ops/attention.h"
#include "tests/core/ops/cuda/gpu_fixture.h"

namespace lockstep {
namespace {

using test::Both;
using test::GpuOpTest;
using test::kRealTypes;
using test::OpSide;
using test::Twin;
using test::type_name;

struct QkvCase {
  std::int64_t rows;
  QkvGroups groups;

  std::int64_t q_width() const { return groups.groups * groups.queries * groups.head_dim; }
  std::int64_t kv_width() const { return groups.groups * groups.head_dim; }
};

// The last is more than one pass of the largest grid.
constexpr QkvCase kQkvCases[] = {
    {.rows = 1, .groups = {.groups = 1, .queries = 1, .head_dim = 1}},
    {.rows = 7, .groups = {.groups = 2, .queries = 4, .head_dim = 40}},
    {.rows = 130, .groups = {.groups = 8, .queries = 1, .head_dim = 8}},
    {.rows = 1100, .groups = {.groups = 2, .queries = 6, .head_dim = 64}},
};

class CudaQkv : public GpuOpTest {};

TEST_P(CudaQkv, SplitIsTheCpusOnRandomInput) {
  for (const QkvCase& sizes : kQkvCases) {
    const Twin fused = random({sizes.rows, sizes.q_width() + 2 * sizes.kv_width()});
    const Both<Qkv> parts =
        on_both([&](const OpSide& on) { return split_qkv(on.ops, on.of(fused), sizes.groups); });
    EXPECT_TRUE(same_bits({parts.cpu.q, parts.gpu.q})) << sizes.rows << " rows";
    EXPECT_TRUE(same_bits({parts.cpu.k, parts.gpu.k})) << sizes.rows << " rows";
    EXPECT_TRUE(same_bits({parts.cpu.v, parts.gpu.v})) << sizes.rows << " rows";
  }
}

TEST_P(CudaQkv, JoinedIsTheCpusOnRandomInput) {
  for (const QkvCase& sizes : kQkvCases) {
    const Twin q = random({sizes.rows, sizes.q_width()});
    const Twin k = random({sizes.rows, sizes.kv_width()});
    const Twin v = random({sizes.rows, sizes.kv_width()});
    EXPECT_TRUE(same_bits(on_both([&](const OpSide& on) {
      return join_qkv(on.ops, {.q = on.of(q), .k = on.of(k), .v = on.of(v)}, sizes.groups);
    }))) << sizes.rows
         << " rows";
  }
}

INSTANTIATE_TEST_SUITE_P(, CudaQkv, kRealTypes, type_name);

struct RopeCase {
  std::int64_t positions;
  std::int64_t batch;
  std::int64_t heads;
  std::int64_t head_dim;
};

// The last is more than one pass of the largest grid.
constexpr RopeCase kRopeCases[] = {
    {.positions = 1, .batch = 1, .heads = 1, .head_dim = 2},
    {.positions = 5, .batch = 3, .heads = 2, .head_dim = 40},
    {.positions = 130, .batch = 1, .heads = 3, .head_dim = 8},
    {.positions = 700, .batch = 3, .heads = 8, .head_dim = 128},
};

class CudaRope : public GpuOpTest {
 protected:
  void expect_the_cpus(RopeDirection direction) {
    for (const RopeCase& sizes : kRopeCases) {
      std::vector<std::int64_t> positions(static_cast<std::size_t>(sizes.positions));
      std::iota(positions.begin(), positions.end(), 3);
      const Twin x = random({sizes.positions * sizes.batch, sizes.heads * sizes.head_dim});
      const Twin y = on_both([&](const OpSide& on) {
        const RopeTables tables = rope_tables(on.ops, positions, sizes.head_dim, 1e4);
        return rope(on.ops, on.of(x), tables, sizes.batch, direction);
      });
      EXPECT_TRUE(same_bits(y)) << sizes.positions << " positions of " << sizes.head_dim;
    }
  }
};

TEST_P(CudaRope, IsTheCpusOnRandomInput) { expect_the_cpus(RopeDirection::kForward); }
TEST_P(CudaRope, BackIsTheCpusOnRandomInput) { expect_the_cpus(RopeDirection::kBack); }

INSTANTIATE_TEST_SUITE_P(, CudaRope, kRealTypes, type_name);

}  // namespace
}  // namespace lockstep
