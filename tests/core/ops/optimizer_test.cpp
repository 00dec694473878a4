// SGD and AdamW against numbers worked out by hand, exact in binary.
#include "core/ops/optimizer.h"

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::OpFixture;
using test::values_of;
using Values = std::vector<double>;

class OptimizerOps : public testing::TestWithParam<DType>, protected OpFixture {
 protected:
  OptimizerOps() : OpFixture(GetParam()) {}

  Tensor main(const Values& values) const {
    return reals(ops().main_dtype(), values, {static_cast<std::int64_t>(values.size())});
  }
  // Its own memory where the types differ, as in training.
  Tensor parameter_of(const Tensor& master) const {
    return master.dtype == ops().dtype ? master : reals(values_of(master), master.shape);
  }
};

// 1 - 0.25 (0.5 + 0.5 * 1) = 0.75;  2 - 0.25 (-1 + 0.5 * 2) = 2.
TEST_P(OptimizerOps, SgdStepsAgainstTheGradientAndTheDecay) {
  const Tensor master = main({1.0, 2.0});
  const Tensor parameter = parameter_of(master);
  sgd_update(ops(),
             {.gradient = main({0.5, -1.0}),
              .master = master,
              .parameter = parameter,
              .lr = 0.25,
              .weight_decay = 0.5},
             "test");
  EXPECT_EQ(values_of(master), (Values{0.75, 2.0}));
  EXPECT_EQ(values_of(parameter), (Values{0.75, 2.0}));
}

// Step 2, so that 1 - b1^2 = 0.75 and 1 - b2^2 = 0.4375:
// m = 0.5 * 0.25 + 0.5 * 0.5 = 0.375 -> 0.5;  v = 0.75 * 0.0625 + 0.25 * 0.25 = 0.109375 -> 0.25;
// p = 1 - 0.125 (0.5 / (0.5 + 0.5) + 0.25 * 1) = 0.90625.
TEST_P(OptimizerOps, AdamwMovesMomentsMasterAndParameter) {
  const Tensor master = main({1.0, 1.0});
  const Tensor parameter = parameter_of(master);
  const Tensor exp_avg = main({0.25, -0.25});
  const Tensor exp_avg_sq = main({0.0625, 0.0625});
  adamw_update(ops(),
               {.gradient = main({0.5, -0.5}),
                .master = master,
                .exp_avg = exp_avg,
                .exp_avg_sq = exp_avg_sq,
                .parameter = parameter,
                .lr = 0.125,
                .beta1 = 0.5,
                .beta2 = 0.75,
                .eps = 0.5,
                .weight_decay = 0.25,
                .step = 2},
               "test");
  EXPECT_EQ(values_of(exp_avg), (Values{0.375, -0.375}));
  EXPECT_EQ(values_of(exp_avg_sq), (Values{0.109375, 0.109375}));
  // The second by hand: 1 - 0.125 (-0.5 + 0.25) = 1.03125.
  EXPECT_EQ(values_of(master), (Values{0.90625, 1.03125}));
  EXPECT_EQ(values_of(parameter), (Values{0.90625, 1.03125}));
}

TEST_P(OptimizerOps, AZeroGradientFromTheStartLeavesOnlyTheDecay) {
  const Tensor master = main({2.0});
  const Tensor parameter = parameter_of(master);
  adamw_update(ops(),
               {.gradient = main({0.0}),
                .master = master,
                .exp_avg = main({0.0}),
                .exp_avg_sq = main({0.0}),
                .parameter = parameter,
                .lr = 0.5,
                .beta1 = 0.9,
                .beta2 = 0.95,
                .eps = 1e-8,
                .weight_decay = 0.25},
               "test");
  EXPECT_EQ(values_of(parameter), Values{1.75});
}

INSTANTIATE_TEST_SUITE_P(OfEveryType,
                         OptimizerOps,
                         testing::Values(DType::kF64, DType::kF32, DType::kBF16),
                         [](const auto& row) { return std::string(name_of(row.param)); });

class Masters : public testing::Test, protected OpFixture {
 protected:
  Masters() : OpFixture(DType::kBF16) {}
};

// Below 1 a bf16 steps by 2^-8: eight updates of 2^-11 are one such step, and none by itself is.
TEST_F(Masters, KeepWhatIsTooSmallForTheParameter) {
  const Tensor master = reals(DType::kF32, {1.0}, {1});
  const Tensor parameter = reals({1.0}, {1});
  const Tensor gradient = reals(DType::kF32, {1.0}, {1});
  const auto update = [&] {
    const SgdUpdate one{
        .gradient = gradient, .master = master, .parameter = parameter, .lr = 0x1p-11};
    sgd_update(ops(), one, "test");
  };
  update();
  EXPECT_EQ(values_of(master), Values{1.0 - 0x1p-11});
  EXPECT_EQ(values_of(parameter), Values{1.0});
  for (int i = 1; i < 8; ++i) update();
  EXPECT_EQ(values_of(master), Values{1.0 - 0x1p-8});
  EXPECT_EQ(values_of(parameter), Values{1.0 - 0x1p-8});
}

TEST_F(Masters, OfTheParametersOwnTypeAreRefused) {
  const Tensor parameter = reals({1.0}, {1});
  const Tensor gradient = reals(DType::kF32, {1.0}, {1});
  const SgdUpdate update{.gradient = gradient, .master = parameter, .parameter = parameter};
  EXPECT_THROW(sgd_update(ops(), update, "test"), InternalError);
}

TEST_F(Masters, OfAnotherSizeAreRefused) {
  const SgdUpdate update{.gradient = reals(DType::kF32, {1.0}, {1}),
                         .master = reals(DType::kF32, {1.0, 2.0}, {2}),
                         .parameter = reals({1.0}, {1})};
  EXPECT_THROW(sgd_update(ops(), update, "test"), InternalError);
}

TEST_F(Masters, UpdatesCountFromOne) {
  const Tensor state = reals(DType::kF32, {1.0}, {1});
  EXPECT_THROW(adamw_update(ops(),
                            {.gradient = state,
                             .master = state,
                             .exp_avg = state,
                             .exp_avg_sq = state,
                             .parameter = reals({1.0}, {1}),
                             .step = 0},
                            "test"),
               InternalError);
}

}  // namespace
}  // namespace lockstep
