// Recorded ops hand each gradient to the right place: held against finite differences as a chain.
#include "core/autograd/functions.h"

#include <gtest/gtest.h>

#include "tests/core/autograd/recording_sink.h"
#include "tests/support/op_fixture.h"

namespace lockstep {
namespace {

using test::numeric_gradient;
using test::RecordingSink;
using test::relative_error;
using test::values_of;

constexpr double kEps = 1e-3;

class Functions : public testing::Test, protected test::OpFixture {};

TEST_F(Functions, AChainOfAllOpsAgreesWithFiniteDifferences) {
  const VocabularyShard shard{.first_row = 0, .num_real = 5};
  const Tensor ids = integers({4, 0, 2, 2, 1, 3});
  const Tensor mask = reals({1, 0, 1, 1, 0, 1}, {6});
  const Parameter table{.id = {0}, .value = random({5, 8})};
  const Parameter norm{.id = {1}, .value = random({8})};
  const Parameter up{.id = {2}, .value = random({8, 8})};
  const Parameter down{.id = {3}, .value = random({1, 8})};
  const auto forward = [&](Tape& tape) {
    const Variable x = embedding(tape, ids, table, shard);
    const Variable hidden = silu(tape, linear(tape, rms_norm(tape, x, norm, kEps), up));
    const Variable y = linear(tape, add(tape, x, hidden), down);
    return weighted_sum(tape, y, mask);
  };
  const Tensor seed = reals({0.75}, {1});
  Tape tape(ops());
  RecordingSink sink(ops());
  const Variable loss = forward(tape);
  tape.backward({&loss, 1}, {&seed, 1}, {}, sink);
  for (const Parameter& parameter : {table, norm, up, down}) {
    const std::vector<double> numeric = numeric_gradient(parameter.value, seed, [&] {
      Tape again(ops());
      return forward(again).value;
    });
    EXPECT_LT(relative_error(values_of(sink.gradients.at(parameter.id.value)), numeric), 1e-8)
        << "parameter " << parameter.id.value;
  }
}

}  // namespace
}  // namespace lockstep
