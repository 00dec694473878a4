// Values of every collective, the same on fibers and threads, in every order and completion.
//
// Inputs are small integers, so that sums are exact in any order.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/backends/inprocess/worlds.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {
namespace {

class Collectives : public EachWorld {};

INSTANTIATE_TEST_SUITE_P(Everywhere, Collectives, testing::ValuesIn(all_options()), option_name_of);

std::vector<double> ramp(int rank, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(100.0 * rank + i);
  return values;
}

TEST_P(Collectives, AllReduceSumsOverRanks) {
  spawn(3, [](TestRank& r, Communicator& tp) {
    const Tensor input = r.tensor(ramp(r.rank.value, 5));
    const Tensor output = r.empty(5);
    run_call(tp,
             {.label = "test.sum",
              .kind = CollectiveKind::kAllReduce,
              .input = input.buffer(),
              .output = output.buffer()});
    EXPECT_EQ(values_of(output), (std::vector<double>{300, 303, 306, 309, 312}));
    EXPECT_EQ(values_of(input), ramp(r.rank.value, 5));
  });
}

TEST_P(Collectives, AllReduceInPlaceTakesTheMaximum) {
  spawn(5, [](TestRank& r, Communicator& tp) {
    const Tensor values = r.tensor({1.0 * r.rank.value, -1.0 * r.rank.value, 2.0});
    run_call(tp,
             {.label = "test.max",
              .kind = CollectiveKind::kAllReduce,
              .input = values.buffer(),
              .output = values.buffer(),
              .op = ReduceOp::kMax});
    EXPECT_EQ(values_of(values), (std::vector<double>{4, 0, 2}));
  });
}

TEST_P(Collectives, MaximumKeepsANaNWhicheverRankHasIt) {
  for (int owner = 0; owner < 3; ++owner) {
    spawn(3, [owner](TestRank& r, Communicator& tp) {
      const Tensor values = r.tensor({r.rank.value == owner ? NAN : 1.0, 7.0});
      run_call(tp,
               {.label = "test.max",
                .kind = CollectiveKind::kAllReduce,
                .input = values.buffer(),
                .output = values.buffer(),
                .op = ReduceOp::kMax});
      EXPECT_TRUE(std::isnan(values_of(values)[0]));
      EXPECT_EQ(values_of(values)[1], 7.0);
    });
  }
}

TEST_P(Collectives, ReduceScatterGivesEachRankItsEqualPart) {
  spawn(3, [](TestRank& r, Communicator& tp) {
    const Tensor input = r.tensor(ramp(r.rank.value, 6));
    const Tensor output = r.empty(2);
    run_call(tp,
             {.label = "test.scatter",
              .kind = CollectiveKind::kReduceScatter,
              .input = input.buffer(),
              .output = output.buffer()});
    const double first = 300.0 + 3 * 2 * r.rank.value;
    EXPECT_EQ(values_of(output), (std::vector<double>{first, first + 3}));
  });
}

TEST_P(Collectives, ReduceScatterTakesUnevenAndEmptyPartsAndWorksInPlace) {
  spawn(3, [](TestRank& r, Communicator& tp) {
    const std::vector<std::int64_t> splits{3, 0, 2};
    const std::vector<std::int64_t> offsets{0, 3, 3};
    const auto me = static_cast<std::size_t>(r.rank.value);
    const Tensor values = r.tensor(ramp(r.rank.value, 5));
    Buffer part = values.buffer();
    part.offset += offsets[me];
    part.count = splits[me];
    run_call(tp,
             {.label = "test.scatter",
              .kind = CollectiveKind::kReduceScatter,
              .input = values.buffer(),
              .output = part,
              .input_splits = splits});
    for (std::int64_t i = 0; i < splits[me]; ++i) {
      const auto at = static_cast<std::size_t>(offsets[me] + i);
      EXPECT_EQ(values_of(values)[at], 300.0 + 3.0 * static_cast<double>(at));
    }
  });
}

TEST_P(Collectives, ReduceScatterMayWriteToTheStartOfItsInput) {
  spawn(3, [](TestRank& r, Communicator& tp) {
    const Tensor values = r.tensor(ramp(r.rank.value, 6));
    Buffer start = values.buffer();
    start.count = 2;
    run_call(tp,
             {.label = "test.scatter",
              .kind = CollectiveKind::kReduceScatter,
              .input = values.buffer(),
              .output = start});
    const double first = 300.0 + 3 * 2 * r.rank.value;
    EXPECT_EQ(values_of(values)[0], first);
    EXPECT_EQ(values_of(values)[1], first + 3);
  });
}

TEST_P(Collectives, AllGatherPutsPartsInRankOrder) {
  spawn(3, [](TestRank& r, Communicator& tp) {
    const Tensor input = r.tensor({10.0 * r.rank.value, 10.0 * r.rank.value + 1});
    const Tensor output = r.empty(6);
    run_call(tp,
             {.label = "test.gather",
              .kind = CollectiveKind::kAllGather,
              .input = input.buffer(),
              .output = output.buffer()});
    EXPECT_EQ(values_of(output), (std::vector<double>{0, 1, 10, 11, 20, 21}));
  });
}

TEST_P(Collectives, AllGatherTakesUnevenPartsInPlace) {
  spawn(3, [](TestRank& r, Communicator& tp) {
    const std::vector<std::int64_t> splits{1, 3, 0};
    const std::vector<std::int64_t> offsets{0, 1, 4};
    const auto me = static_cast<std::size_t>(r.rank.value);
    const Tensor output = r.tensor({-1, -1, -1, -1});
    Buffer part = output.buffer();
    part.offset += offsets[me];
    part.count = splits[me];
    for (std::int64_t i = 0; i < part.count; ++i) {
      output.data<double>()[offsets[me] + i] = 10.0 * r.rank.value + static_cast<double>(i);
    }
    run_call(tp,
             {.label = "test.gather",
              .kind = CollectiveKind::kAllGather,
              .input = part,
              .output = output.buffer(),
              .output_splits = splits});
    EXPECT_EQ(values_of(output), (std::vector<double>{0, 10, 11, 12}));
  });
}

TEST_P(Collectives, AllToAllTransposesParts) {
  spawn(3, [](TestRank& r, Communicator& tp) {
    const Tensor input = r.tensor(ramp(r.rank.value, 6));
    const Tensor output = r.empty(6);
    run_call(tp,
             {.label = "test.exchange",
              .kind = CollectiveKind::kAllToAll,
              .input = input.buffer(),
              .output = output.buffer()});
    const double part = 2.0 * r.rank.value;
    EXPECT_EQ(
        values_of(output),
        (std::vector<double>{part, part + 1, 100 + part, 101 + part, 200 + part, 201 + part}));
  });
}

TEST_P(Collectives, AllToAllTakesUnevenPartsAndWorksInPlace) {
  spawn(3, [](TestRank& r, Communicator& tp) {
    // Rank i sends (i + j) % 3 elements to rank j: every rank has three in all.
    std::vector<std::int64_t> splits;
    for (int j = 0; j < 3; ++j) splits.push_back((r.rank.value + j) % 3);
    const Tensor values = r.tensor(ramp(r.rank.value, 3));
    run_call(tp,
             {.label = "test.exchange",
              .kind = CollectiveKind::kAllToAll,
              .input = values.buffer(),
              .output = values.buffer(),
              .input_splits = splits,
              .output_splits = splits});
    const std::vector<std::vector<double>> expected{{100, 200, 201}, {0, 101, 102}, {1, 2, 202}};
    EXPECT_EQ(values_of(values), expected[static_cast<std::size_t>(r.rank.value)]);
  });
}

TEST_P(Collectives, BroadcastCopiesTheRootsInput) {
  spawn(4, [](TestRank& r, Communicator& tp) {
    const Tensor input = r.tensor({1.0 * r.rank.value, 2.0});
    const Tensor output = r.empty(2);
    run_call(tp,
             {.label = "test.broadcast",
              .kind = CollectiveKind::kBroadcast,
              .input = r.rank.value == 2 ? input.buffer() : Buffer{},
              .output = output.buffer(),
              .peer = GroupRank{2}});
    EXPECT_EQ(values_of(output), (std::vector<double>{2, 2}));
  });
}

TEST_P(Collectives, ZeroSizesAndAGroupOfOneWorkAsAnyOther) {
  for (const int size : {1, 3}) {
    spawn(size, [size](TestRank& r, Communicator& tp) {
      for (const CollectiveKind kind : {CollectiveKind::kAllReduce,
                                        CollectiveKind::kReduceScatter,
                                        CollectiveKind::kAllGather,
                                        CollectiveKind::kAllToAll,
                                        CollectiveKind::kBroadcast,
                                        CollectiveKind::kBarrier}) {
        run_call(tp, {.label = "test.empty", .kind = kind});
      }
      const Tensor input = r.tensor({3, 4});
      const Tensor output = r.empty(2);
      run_call(tp,
               {.label = "test.sum",
                .kind = CollectiveKind::kAllReduce,
                .input = input.buffer(),
                .output = output.buffer()});
      EXPECT_EQ(values_of(output), (std::vector<double>{3.0 * size, 4.0 * size}));
    });
  }
}

TEST_P(Collectives, EveryDtypeIsSummed) {
  spawn(3, [](TestRank& r, Communicator& tp) {
    const auto sum = [&](const Tensor& tensor) {
      run_call(tp,
               {.label = "test.sum",
                .kind = CollectiveKind::kAllReduce,
                .input = tensor.buffer(),
                .output = tensor.buffer()});
    };
    const Tensor f32 = r.empty(2, DType::kF32);
    f32.data<float>()[0] = 1.5F;
    f32.data<float>()[1] = -2.0F;
    sum(f32);
    EXPECT_EQ(f32.data<float>()[0], 4.5F);
    EXPECT_EQ(f32.data<float>()[1], -6.0F);
    const Tensor i64 = r.empty(1, DType::kI64);
    i64.data<std::int64_t>()[0] = (std::int64_t{1} << 53) + r.rank.value;
    sum(i64);
    EXPECT_EQ(i64.data<std::int64_t>()[0], 3 * (std::int64_t{1} << 53) + 3);
    const Tensor bf16 = r.empty(1, DType::kBF16);
    bf16.data<std::uint16_t>()[0] = 0x3fc0;  // 1.5
    sum(bf16);
    EXPECT_EQ(bf16.data<std::uint16_t>()[0], 0x4090);  // 4.5
  });
}

}  // namespace
}  // namespace lockstep::test
