// The activations check names the first module in execution order that differs, and its
// micro-batch.
#include "simulator/checks/activations.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/simulator/checks/fake_trial.h"

namespace lockstep::test {
namespace {

using sim::check_activations;
using sim::CheckResult;
using sim::CheckVerdict;

CheckResult run(const FakeTrial& fake) { return check_activations(fake.trial, fake.measured()); }

TEST(ActivationsCheck, PassesAndCountsEachStepMicroBatchModuleAndRank) {
  for (const bool sp : {false, true}) {
    for (const FakeLayout layout : {FakeLayout{1, 1},
                                    {2, 1},
                                    {1, 3},
                                    {2, 3},
                                    {8, 2},
                                    {.cp = 2},
                                    {.tp = 2, .dp = 3, .cp = 2},
                                    {.tp = 2, .cp = 3}}) {
      const CheckResult result = run(make_trial(layout, {.sp = sp}));
      EXPECT_EQ(result.verdict, CheckVerdict::kPass) << result.reason;
      EXPECT_EQ(result.expected, 2 * 12 * 4 * layout.tp * layout.cp);
      EXPECT_EQ(result.compared, result.expected);
      EXPECT_EQ(result.worst.bound, 1e-10);
    }
  }
}

TEST(ActivationsCheck, NamesTheFirstModuleInExecutionOrderAndItsMicroBatch) {
  FakeTrial fake = make_trial({2, 3});
  // dp rank 1 holds micro-batches 1, 4, 7, 10. What differs later differs more.
  fake.activation(2, 0, 1, kActivated).values[5] += 1e-3;
  for (int rank : {2, 3}) {
    fake.activation(rank, 0, 1, kFc2Out).values[3] += 5.0;
    scale(fake.activation(rank, 0, 1, kLogits).values, 3.0);
  }
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, std::string(kActivated) + ", micro-batch 4");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{2}));
  EXPECT_EQ(result.worst.where, result.failures[0].where);
  EXPECT_EQ(result.compared, result.expected);
}

TEST(ActivationsCheck, TellsTheEarliestModuleOfAllMicroBatches) {
  FakeTrial fake = make_trial({1, 1});
  scale(fake.activation(0, 0, 2, kLogits).values, 2.0);
  fake.activation(0, 0, 9, kFc2Out).values[0] += 1e-3;
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, std::string(kFc2Out) + ", micro-batch 9");
}

TEST(ActivationsCheck, TellsEveryMicroBatchThatTheModuleDiffersIn) {
  FakeTrial fake = make_trial({2, 3});
  fake.on_all_ranks(0, [](StepResult& step) {
    for (MicroBatchLoss& loss : step.losses) scale(named(loss.activations, kFc2Out).values, 0.5);
  });
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 12U);
  for (const sim::Place& place : result.failures) {
    EXPECT_EQ(place.where.rfind(kFc2Out, 0), 0U) << place.where;
    EXPECT_EQ(place.hint, "x0.5 = 1/tp");
  }
}

TEST(ActivationsCheck, NamesTheStepAfterTheFirst) {
  FakeTrial fake = make_trial({1, 3});
  fake.activation(1, 1, 0, kEmbedded).values[0] += 1.0;
  EXPECT_EQ(run(fake).failures.at(0).where, std::string(kEmbedded) + ", micro-batch 1 (step 1)");
}

TEST(ActivationsCheck, FindsAFaultOnOneOfSeveralHolders) {
  FakeTrial fake = make_trial({2, 1});
  scale(fake.activation(1, 0, 0, kFc2Out).values, 2.0);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{1}));
  EXPECT_EQ(result.failures[0].hint, "x2 = tp");
}

TEST(ActivationsCheck, NamesTheAxisOverWhichASumIsMissing) {
  FakeTrial fake = make_trial({2, 3});
  const double shares[] = {0.25, 0.75};
  for (int rank : {2, 3}) {
    std::vector<double>& values = fake.activation(rank, 0, 1, kFc2Out).values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] *= shares[(static_cast<std::size_t>(rank) + i) % 2];
    }
  }
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].hint, "sum over tp = reference: not summed there");
}

TEST(ActivationsCheck, FindsTokensThatSequenceParallelismDealtToTheWrongRanks) {
  FakeTrial fake = make_trial({2, 1}, {.sp = true});
  std::swap(fake.activation(0, 0, 3, kEmbedded).values, fake.activation(1, 0, 3, kEmbedded).values);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, std::string(kEmbedded) + ", micro-batch 3");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{0, 1}));
}

TEST(ActivationsCheck, HoldsBlocksOfTinyValuesAgainstAllActivationsOfTheirMicroBatch) {
  FakeTrial fake = make_trial({1, 1});
  for (sim::OracleTensor& tensor : fake.oracle.steps[0].activations[0]) {
    if (tensor.name != kFc2Out) continue;
    scale(tensor.values, 0.0);
    std::vector<double>& got = fake.activation(0, 0, 0, kFc2Out).values;
    scale(got, 0.0);
    got[0] = 1e-16;  // of about 1e1, with a floor of 1e-6
  }
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kPass);
  fake.activation(0, 0, 0, kFc2Out).values[0] = 1e-14;
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kFail);
}

TEST(ActivationsCheck, DoesNotLookAtPaddedColumns) {
  FakeTrial fake = make_trial({8, 1});
  // Of 16 columns each, rank 5 has ten of the vocabulary's and six of padding.
  Shard& logits = fake.activation(5, 0, 0, kLogits);
  logits.values[15] = 7.0;
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kPass);
  logits.values[9] = 7.0;
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kFail);
}

TEST(ActivationsCheck, FailsOnNaN) {
  FakeTrial fake = make_trial({1, 3});
  fake.activation(0, 0, 0, kActivated).values[7] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(run(fake).failures.at(0).hint, "not finite");
}

TEST(ActivationsCheck, FailsWhereAModuleWasNotTraced) {
  FakeTrial fake = make_trial({2, 3});
  std::vector<Shard>& activations = fake.step(3, 0).losses[1].activations;
  activations.erase(activations.begin());
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.compared, result.expected - 1);
  EXPECT_EQ(result.reason, "rank 3 lacks embedding, micro-batch 4");
}

TEST(ActivationsCheck, FailsWhereAMicroBatchWasNotRun) {
  FakeTrial fake = make_trial({1, 3});
  fake.step(2, 1).losses.pop_back();
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.compared, result.expected - 4);
}

TEST(ActivationsCheck, FailsWhereAModuleIsTracedThatTheModelLacks) {
  FakeTrial fake = make_trial({1, 1});
  std::vector<Shard>& activations = fake.step(0, 0).losses[0].activations;
  activations.push_back(activations.back());
  activations.back().name = "surprise";
  EXPECT_EQ(run(fake).reason,
            "rank 0 holds surprise, which the model does not have, micro-batch 0");
}

TEST(ActivationsCheck, FailsWhereTheReferenceTracedNothing) {
  FakeTrial fake = make_trial({1, 1});
  for (sim::OracleStep& step : fake.oracle.steps) step.activations.clear();
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.reason, "there was nothing to compare");
}

TEST(ActivationsCheck, HoldsLowerPrecisionsAgainstTheSingleDeviceRun) {
  FakeTrial fake = make_trial({2, 3}, {.dtype = Precision::kBF16});
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kPass);
  scale(fake.activation(0, 0, 0, kFc2Out).values, 1.0 + 1e-5);
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  EXPECT_EQ(result.failures.at(0).where, std::string(kFc2Out) + ", micro-batch 0");
}

TEST(ActivationsCheck, FindsTokensThatContextParallelismDealtToTheWrongRanks) {
  FakeTrial fake = make_trial({.tp = 2, .cp = 2});
  for (int tp : {0, 1}) {
    std::swap(fake.activation(tp, 0, 4, kActivated).values,
              fake.activation(2 + tp, 0, 4, kActivated).values);
  }
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, std::string(kActivated) + ", micro-batch 4");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{0, 1, 2, 3}));
}

TEST(ActivationsCheck, FindsChunksOfTokensThatLieInAnotherOrder) {
  FakeTrial fake = make_trial({.tp = 2, .cp = 2});
  // Micro-batch 4 is one document: cp rank 1 holds the second and the third of four chunks in one
  // run, cp rank 0 the first and the last.
  std::vector<ShardRun>& runs = fake.activation(0, 0, 4, kLogits).slices[0].runs;
  ASSERT_EQ(runs.size(), 2U);
  std::swap(runs[0].global, runs[1].global);
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, std::string(kLogits) + ", micro-batch 4");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{0}));
}

TEST(ActivationsCheck, FailsWhereNoRankHoldsSomeTokens) {
  FakeTrial fake = make_trial({.tp = 2, .cp = 2});
  fake.activation(1, 0, 4, kActivated).slices[0].runs.pop_back();
  const CheckResult result = run(fake);
  EXPECT_EQ(result.verdict, CheckVerdict::kFail);
  // Two tokens of the second half of 48 columns.
  EXPECT_EQ(result.reason,
            std::string(kActivated) +
                ", micro-batch 4: no rank holds 48 of its elements, the first is 312");
}

TEST(ActivationsCheck, FindsAFaultInOneElementOfAPartThatIsCutInBothDims) {
  FakeTrial fake = make_trial({.tp = 2, .dp = 3, .cp = 2});
  // dp rank 1 holds micro-batches 1, 4, 7, 10. Its cp rank 1 has tokens 2 to 5 of micro-batch 4.
  fake.activation(7, 0, 1, kActivated).values[24] += 1.0;
  const CheckResult result = run(fake);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0].where, std::string(kActivated) + ", micro-batch 4");
  EXPECT_EQ(numbers_of(result.failures[0].ranks), (std::vector<int>{7}));
}

TEST(ActivationsCheck, DoesNotLookAtPaddingOfDocuments) {
  FakeTrial fake = make_trial({.cp = 2});
  // Micro-batch 1 is two documents of 3 and 5 tokens, padded to 4 and 8: cp rank 0 has tokens 0,
  // none, 3, 4, none and none.
  Shard& activation = fake.activation(0, 0, 1, kFc2Out);
  ASSERT_EQ(activation.local_shape[0], 6);
  activation.values[8] = 7.0;
  activation.values[47] = 7.0;
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kPass);
  activation.values[16] = 7.0;
  EXPECT_EQ(run(fake).verdict, CheckVerdict::kFail);
}

}  // namespace
}  // namespace lockstep::test
