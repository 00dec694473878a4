// The tape: fan-out, two-call backward, re-entry, stages that start from a given gradient.
#include "core/autograd/tape.h"

#include <gtest/gtest.h>

#include "core/autograd/functions.h"
#include "core/base/errors.h"
#include "core/ops/elementwise.h"
#include "tests/core/autograd/recording_sink.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::RecordingSink;
using test::values_of;

class TapeTest : public testing::Test, protected test::OpFixture {
 protected:
  Parameter parameter(int id, const Shape& shape) { return {.id = {id}, .value = random(shape)}; }

  RecordingSink sink_{ops()};
};

TEST_F(TapeTest, AValueUsedTwiceGetsTheSumOfBothGradients) {
  Tape tape(ops());
  const Variable x = tape.input(reals({2.0}, {1}));
  const Variable y = add(tape, add(tape, x, x), x);
  const Tensor seed = reals({1.0}, {1});
  EXPECT_EQ(values_of(tape.backward({&y, 1}, {&seed, 1}, {&x, 1}, sink_)[0]),
            std::vector<double>{3.0});
}

TEST_F(TapeTest, AddingGradientsLeavesTheGivenOneAlone) {
  Tape tape(ops());
  const Variable x = tape.input(reals({2.0}, {1}));
  const Variable y = add(tape, x, x);
  const Tensor seed = reals({1.0}, {1});
  tape.backward({&y, 1}, {&seed, 1}, {&x, 1}, sink_);
  EXPECT_EQ(values_of(seed), std::vector<double>{1.0});
}

TEST_F(TapeTest, SplitBackwardGivesTheBitsOfTheWholeOne) {
  const Parameter w1 = parameter(0, {6, 4});
  const Parameter w2 = parameter(1, {4, 6});
  const Tensor x = random({3, 4});
  const Tensor seed = random({3, 4});
  const auto forward = [&](Tape& tape, const Variable& input) {
    return linear(tape, silu(tape, linear(tape, input, w1)), w2);
  };
  Tape whole(ops());
  const Variable whole_x = whole.input(x);
  const Variable whole_y = forward(whole, whole_x);
  const Tensor whole_dx = whole.backward({&whole_y, 1}, {&seed, 1}, {&whole_x, 1}, sink_)[0];

  RecordingSink split_sink(ops());
  Tape split(ops());
  const Variable split_x = split.input(x);
  const Variable split_y = forward(split, split_x);
  const Tensor split_dx = split.backward(
      {&split_y, 1}, {&seed, 1}, {&split_x, 1}, split_sink, BackwardMode::kInputOnly)[0];
  EXPECT_TRUE(split_sink.gradients.empty()) << "weight gradients must wait for their own call";
  split.backward_weights(split_sink);
  EXPECT_EQ(values_of(split_dx), values_of(whole_dx));
  for (const int id : {0, 1}) {
    EXPECT_EQ(values_of(split_sink.gradients.at(id)), values_of(sink_.gradients.at(id)));
  }
}

TEST_F(TapeTest, AParameterUsedTwiceFinishesOnceAfterItsLastUse) {
  const Parameter w = parameter(0, {4, 4});
  const Parameter other = parameter(1, {4, 4});
  Tape tape(ops());
  const Variable x = tape.input(random({3, 4}));
  const Variable y = linear(tape, linear(tape, linear(tape, x, w), other), w);
  const Tensor seed = random({3, 4});
  tape.backward({&y, 1}, {&seed, 1}, {}, sink_);
  EXPECT_EQ(sink_.uses.at(0), 2);
  EXPECT_EQ(sink_.order, (std::vector{1, 0}));
}

TEST_F(TapeTest, AStagesBackwardNeedsNoOutputMemory) {
  const Parameter w = parameter(0, {4, 4});
  Tape tape(ops());
  const Variable x = tape.input(random({3, 4}));
  Variable y = linear(tape, x, w);
  y.value = {};  // sent to the next stage and freed
  const Tensor seed = random({3, 4});
  const Tensor dx = tape.backward({&y, 1}, {&seed, 1}, {&x, 1}, sink_)[0];
  EXPECT_EQ(dx.shape, Shape({3, 4}));
}

TEST_F(TapeTest, RecomputeIsANodeWithATapeOfItsOwn) {
  const Parameter w = parameter(0, {4, 4});
  const Tensor x = random({3, 4});
  const Tensor seed = random({3, 4});
  Tape plain(ops());
  const Variable plain_x = plain.input(x);
  const Variable plain_y = silu(plain, linear(plain, plain_x, w));
  const Tensor expected = plain.backward({&plain_y, 1}, {&seed, 1}, {&plain_x, 1}, sink_)[0];

  RecordingSink recomputed_sink(ops());
  Tape tape(ops());
  const Variable input = tape.input(x);
  const auto segment = [&](Tape& inner, const Variable& v) {
    return silu(inner, linear(inner, v, w));
  };
  Tape discarded(ops());
  const Variable output = tape.record(
      {.label = "recompute",
       .inputs = {input},
       .outputs = {segment(discarded, discarded.input(x)).value},
       .saved = {x},
       .backward_input = [&](const BackwardCall& call) -> std::vector<Tensor> {
         Tape inner(call.ops);
         const Variable again = inner.input(call.saved[0]);
         const Variable y = segment(inner, again);
         return inner.backward({&y, 1}, call.output_gradients, {&again, 1}, recomputed_sink);
       }})[0];
  const Tensor dx = tape.backward({&output, 1}, {&seed, 1}, {&input, 1}, recomputed_sink)[0];
  EXPECT_EQ(values_of(dx), values_of(expected));
  EXPECT_EQ(values_of(recomputed_sink.gradients.at(0)), values_of(sink_.gradients.at(0)));
}

TEST_F(TapeTest, WhatNoGradientReachesStaysEmptyAndStillFinishes) {
  const Parameter used = parameter(0, {4, 4});
  const Parameter unused = parameter(1, {4, 4});
  Tape tape(ops());
  const Variable x = tape.input(random({3, 4}));
  const Variable y = linear(tape, x, used);
  const Variable aside = tape.input(random({3, 4}));
  linear(tape, aside, unused);
  const Tensor seed = random({3, 4});
  const std::vector<Tensor> gradients =
      tape.backward({&y, 1}, {&seed, 1}, std::vector{x, aside}, sink_);
  EXPECT_FALSE(static_cast<bool>(gradients[1]));
  EXPECT_EQ(sink_.gradients.count(1), 0U);
  EXPECT_EQ(sink_.order, (std::vector{1, 0}));
}

TEST_F(TapeTest, ASecondBackwardOverTheSameNodeIsAnError) {
  const Parameter w = parameter(0, {4, 4});
  Tape tape(ops());
  const Variable x = tape.input(random({3, 4}));
  const Variable y = linear(tape, x, w);
  const Tensor seed = random({3, 4});
  tape.backward({&y, 1}, {&seed, 1}, {}, sink_);
  EXPECT_THROW(tape.backward({&y, 1}, {&seed, 1}, {}, sink_), InternalError);
}

}  // namespace
}  // namespace lockstep
