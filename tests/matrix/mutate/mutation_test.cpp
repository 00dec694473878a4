// Rows, alarms, score and exit code over several cases.
#include "matrix/mutate/mutation.h"

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "tests/matrix/mutate/sample_mutation.h"

namespace lockstep::test {
namespace {

using matrix::DefectRow;
using matrix::Mutation;
using matrix::RowState;
using matrix::Verdict;

TEST(Row, IsCaughtWhereACaseThatMustShowItDoesAndNoneIsMissed) {
  SampleMutation sample({"D"});
  sample.make_visible("a", "D");
  sample.fail("a", "D", "grads", "weight");
  const Mutation mutation = sample.judged();
  EXPECT_EQ(mutation.rows.at(0).state, RowState::kCaught);
  EXPECT_EQ(mutation.rows[0].cases.caught, 1);
  EXPECT_EQ(mutation.rows[0].cases.unreached, 2);
  EXPECT_EQ(mutation.rows[0].num_visible, 1);
  EXPECT_EQ(mutation.rows[0].num_visible_caught, 1);
  EXPECT_EQ(mutation.rows[0].num_beyond, 0);
  EXPECT_EQ(exit_code_of(mutation), 0);
}

TEST(Row, IsMissedByOneCaseHoweverManyCatchIt) {
  SampleMutation sample({"D"});
  for (const char* name : {"a", "b", "c"}) sample.make_visible(name, "D");
  sample.fail("a", "D", "grads", "weight");
  sample.fail("c", "D", "grads", "weight");
  const Mutation mutation = sample.judged();
  EXPECT_EQ(mutation.rows.at(0).state, RowState::kMissed);
  EXPECT_EQ(mutation.rows[0].cases.caught, 2);
  EXPECT_EQ(mutation.rows[0].cases.missed, 1);
  ASSERT_EQ(mutation.missed.size(), 1U);
  EXPECT_EQ(mutation.missed[0].defect, "D");
  EXPECT_EQ(mutation.missed[0].case_name, "b");
  EXPECT_EQ(mutation.missed[0].run, sample.run("b", "D"));
  EXPECT_EQ(exit_code_of(mutation), 1);
}

TEST(Row, IsCaughtWhereOnlyCasesBeyondItsConditionCatchIt) {
  SampleMutation sample({"D"});
  sample.fail("a", "D", "grads", "weight");
  const Mutation mutation = sample.judged();
  EXPECT_EQ(mutation.rows.at(0).state, RowState::kCaught);
  EXPECT_EQ(mutation.rows[0].num_beyond, 1);
  EXPECT_EQ(mutation.rows[0].cases.caught, 1);
  EXPECT_EQ(exit_code_of(mutation), 0);
}

TEST(Row, IsMissedByOneCaseThoughAnotherBeyondItsConditionCatchesIt) {
  SampleMutation sample({"D"});
  sample.fail("a", "D", "grads", "weight");
  sample.make_visible("b", "D");
  const Mutation mutation = sample.judged();
  EXPECT_EQ(mutation.rows.at(0).state, RowState::kMissed);
  EXPECT_EQ(exit_code_of(mutation), 1);
}

TEST(Row, IsUnreachedWhereNoCaseCatchesItAndNoneMust) {
  SampleMutation sample({"D"});
  const Mutation mutation = sample.judged();
  EXPECT_EQ(mutation.rows.at(0).state, RowState::kUnreached);
  EXPECT_EQ(mutation.rows[0].cases.unreached, 3);
  EXPECT_EQ(exit_code_of(mutation), 1);
}

TEST(Row, CountsInertAndEquivalentCases) {
  SampleMutation sample({"D"});
  sample.traits("a", "D").is_unchanged = true;
  sample.record("b", "D").digest = "other";
  const DefectRow row = sample.judged().rows.at(0);
  EXPECT_EQ(row.cases.inert, 1);
  EXPECT_EQ(row.cases.equivalent, 1);
  EXPECT_EQ(row.cases.unreached, 1);
}

TEST(Row, TellsTheSmallestCatchingCaseTheFirstOfItsWorld) {
  SampleMutation sample({"D"});
  sample.fail("a", "D", "grads", "in a");
  sample.fail("b", "D", "loss", "in b");
  sample.fail("c", "D", "grads", "in c");
  const DefectRow row = sample.judged().rows.at(0);
  ASSERT_TRUE(row.smallest.has_value());
  EXPECT_EQ(row.smallest->case_name, "b");
  EXPECT_EQ(row.smallest->record.where, "in b");
  const std::vector<std::pair<std::string, std::int64_t>> checks = {{"grads", 2}, {"loss", 1}};
  EXPECT_EQ(row.checks, checks);
}

TEST(Mutation, ShowsMissedRowsThenUnreachedThenCaughtEachInTheTablesOrder) {
  SampleMutation sample({"D1", "D2", "D3", "D4"});
  for (const char* id : {"D1", "D3"}) {
    sample.make_visible("b", id);
    sample.fail("b", id, "grads", "weight");
  }
  sample.make_visible("c", "D4");
  std::vector<std::string> ids;
  for (const DefectRow& row : sample.judged().rows) ids.push_back(row.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"D4", "D2", "D1", "D3"}));
}

TEST(Mutation, DoesNotJudgeTheMutantsOfACleanRunThatFails) {
  SampleMutation sample({"D"});
  sample.make_visible("a", "D");
  sample.fail("a", "D", "grads", "weight");
  sample.make_visible("b", "D");
  sample.fail("b", "", "grads", "weight");
  const Mutation mutation = sample.judged();
  EXPECT_EQ(mutation.rows.at(0).state, RowState::kCaught);
  EXPECT_EQ(mutation.rows[0].num_not_judged, 1);
  EXPECT_EQ(mutation.rows[0].cases.missed, 0);
  EXPECT_EQ(mutation.num_clean_passed, 2);
  ASSERT_EQ(mutation.alarms.size(), 1U);
  EXPECT_EQ(mutation.alarms[0],
            "b: the clean run does not pass, and its mutants are not judged: grads at weight, "
            "rank 0, x2 = dp");
  EXPECT_EQ(exit_code_of(mutation), 1);
}

TEST(Mutation, AlarmsWhereAnInertMutantHasOtherBits) {
  SampleMutation sample({"D"});
  sample.make_visible("a", "D");
  sample.fail("a", "D", "grads", "weight");
  sample.traits("c", "D").is_unchanged = true;
  EXPECT_EQ(exit_code_of(sample.judged()), 0);
  sample.record("c", "D").digest = "other";
  const Mutation mutation = sample.judged();
  ASSERT_EQ(mutation.alarms.size(), 1U);
  EXPECT_EQ(mutation.alarms[0], "c+D: inert, yet with another digest than the clean run");
  EXPECT_EQ(mutation.rows.at(0).state, RowState::kCaught);
  EXPECT_EQ(exit_code_of(mutation), 1);
}

TEST(Mutation, CountsWhatDidNotRunAsNotJudged) {
  SampleMutation sample({"D"});
  sample.record("a", "D") = {};
  sample.record("b", "") = {};
  Mutation mutation = sample.judged();
  EXPECT_EQ(mutation.num_runs, 4);
  EXPECT_EQ(mutation.num_cases, 3);
  EXPECT_EQ(mutation.num_clean_passed, 2);
  EXPECT_EQ(mutation.rows.at(0).num_not_judged, 2);
  EXPECT_TRUE(mutation.alarms.empty());
  mutation.interrupted = true;
  EXPECT_EQ(exit_code_of(mutation), 130);
}

TEST(Mutation, IsNothingWhereNoCleanRunPassed) {
  SampleMutation sample({"D"});
  for (const char* name : {"a", "b", "c"}) {
    sample.record(name, "").verdict = Verdict::kSkipped;
  }
  const Mutation mutation = sample.judged();
  EXPECT_EQ(mutation.num_clean_skipped, 3);
  EXPECT_EQ(mutation.rows.at(0).num_not_judged, 3);
  EXPECT_EQ(exit_code_of(mutation), 4);
}

TEST(Mutation, ScoresRowsAndTheCasesInWhichTheyShow) {
  SampleMutation sample({"D1", "D2"});
  for (const char* name : {"a", "b"}) {
    sample.make_visible(name, "D1");
    sample.fail(name, "D1", "grads", "weight");
  }
  sample.make_visible("a", "D2");
  sample.fail("c", "D2", "grads", "weight");
  const matrix::Score score = score_of(sample.judged());
  EXPECT_EQ(score.num_caught, 1) << "D2 is missed in a, though caught in c";
  EXPECT_EQ(score.num_defects, 2);
  EXPECT_EQ(score.num_caught_cases, 2);
  EXPECT_EQ(score.num_visible_cases, 3);
}

TEST(Mutation, RefusesRecordsOfAnotherPlan) {
  SampleMutation sample({"D"});
  sample.records.pop_back();
  EXPECT_THROW(sample.judged(), InternalError);
}

}  // namespace
}  // namespace lockstep::test
