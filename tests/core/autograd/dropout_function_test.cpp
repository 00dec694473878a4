// Recorded dropout: its gradient, and that it records nothing where it drops nothing.
#include <gtest/gtest.h>

#include "core/autograd/functions.h"
#include "tests/core/autograd/recording_sink.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::numeric_gradient;
using test::RecordingSink;
using test::relative_error;
using test::values_of;

class DropoutFunction : public testing::Test, protected test::OpFixture {
 protected:
  Variable forward(Tape& tape, const Variable& x, double probability) const {
    const Variable dropped =
        dropout(tape, x, place_, {.probability = probability, .seed = 1, .stream = 2});
    return silu(tape, dropped);
  }

  const Tensor x_ = random({4, 6});
  const DropoutPlace place_{.rows = integers({3, 9, -1, 4}), .width = 8, .first_column = 2};
  const Tensor seed_ = random({4, 6});
};

TEST_F(DropoutFunction, InAChainAgreesWithFiniteDifferences) {
  Tape tape(ops());
  RecordingSink sink(ops());
  const Variable x = tape.input(x_);
  const Variable y = forward(tape, x, 0.5);
  const Tensor dx = tape.backward({&y, 1}, {&seed_, 1}, {&x, 1}, sink)[0];
  const std::vector<double> numeric = numeric_gradient(x_, seed_, [&] {
    Tape again(ops());
    return forward(again, again.input(x_), 0.5).value;
  });
  EXPECT_LT(relative_error(values_of(dx), numeric), 1e-8);
}

TEST_F(DropoutFunction, GivesNoGradientToWhatItDroppedAndTheScaledOneToTheRest) {
  Tape tape(ops());
  RecordingSink sink(ops());
  const Variable x = tape.input(x_);
  const Variable y = dropout(tape, x, place_, {.probability = 0.5, .seed = 1, .stream = 2});
  const Tensor dx = tape.backward({&y, 1}, {&seed_, 1}, {&x, 1}, sink)[0];
  std::int64_t num_dropped = 0;
  for (std::int64_t i = 0; i < x_.num_elements(); ++i) {
    const double factor = test::value_at(y.value, i) / test::value_at(x_, i);
    num_dropped += factor == 0.0 ? 1 : 0;
    EXPECT_EQ(test::value_at(dx, i), factor * test::value_at(seed_, i)) << i;
  }
  EXPECT_GT(num_dropped, 0);
  EXPECT_LT(num_dropped, x_.num_elements());
}

TEST_F(DropoutFunction, WithProbabilityZeroIsTheVariableItselfAndIsNotRecorded) {
  Tape tape(ops());
  const Variable x = tape.input(x_);
  const Variable y = dropout(tape, x, place_, {});
  EXPECT_EQ(y.id, x.id);
  EXPECT_EQ(y.value.storage, x.value.storage);
}

}  // namespace
}  // namespace lockstep
