// One rank of the real training program goes wrong: the report blames it, briefly, on both hosts
// and whenever a collective completes.
#include <gtest/gtest.h>

#include <exception>
#include <stdexcept>

#include "core/base/errors.h"
#include "core/config/presets.h"
#include "tests/simulator/runtime/faulty_training.h"

namespace lockstep::test {
namespace {

using backends::Finding;
using backends::FindingKind;
using sim::ClusterOptions;
using sim::ClusterReport;
using sim::RankHost;

constexpr const char* kReduce = "forward.reduce.decoder.layers.0.mlp.linear_fc2";
constexpr const char* kBucket0 = "finalize.dp_sum.bucket0";
constexpr const char* kBucket1 = "finalize.dp_sum.bucket1";
constexpr const char* kTotals = "finalize.totals_sum";

// Ranks 0 to 5 are (tp, dp) 00 10 01 11 02 12; gradients go in three buckets.
Case faulty_case() {
  Case c = preset_case("tiny-linear");
  c.layout.tp = 2;
  c.layout.dp = 3;
  c.recipe.bucket_elements = 2000;
  return c;
}

struct Blame {
  FindingKind kind;
  std::vector<Rank> ranks;
  std::string headline;  // the report's first lines
};

void expect_starts_with(const std::string& text, const std::string& start) {
  EXPECT_EQ(text.substr(0, start.size()), start) << text;
}

// On fibers and threads, in all modes of completion, with two schedules.
void expect_blame(const std::vector<TrainingFault>& faults,
                  const Blame& blame,
                  const Case& c = faulty_case()) {
  for (const RankHost host : {RankHost::kFibers, RankHost::kThreads}) {
    for (const Completion completion :
         {Completion::kEarly, Completion::kLate, Completion::kSeeded}) {
      for (const std::uint64_t seed : {0U, 5U}) {
        const ClusterReport report = train_with_faults(
            c, faults, {.host = host, .completion = completion, .schedule_seed = seed});
        ASSERT_FALSE(report.findings.empty());
        const Finding& first = report.findings.front();
        EXPECT_EQ(first.kind, blame.kind) << first.message;
        EXPECT_EQ(first.ranks, blame.ranks) << first.message;
        expect_starts_with(first.message, blame.headline);
      }
    }
  }
}

TEST(TrainingFaults, ASkippedReductionIsToldInFull) {
  const ClusterReport report =
      train_with_faults(faulty_case(), {{.rank = 3, .label = kReduce, .instead = skip()}});
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].ranks, std::vector<Rank>{Rank{3}});
  EXPECT_EQ(report.findings[0].label, kReduce);
  EXPECT_EQ(
      report.findings[0].message,
      "rank 3 (tp 1, dp 1) calls all_reduce 'forward.reduce.decoder.layers.1.mlp.linear_fc2' where "
      "rank 2 (tp 0, dp 1) calls all_reduce 'forward.reduce.decoder.layers.0.mlp.linear_fc2' on "
      "tp#1 {2, 3}: it has skipped 'forward.reduce.decoder.layers.0.mlp.linear_fc2'\n"
      "6 of 6 ranks wait and none can be woken:\n"
      "  rank 2 (tp 0, dp 1): waits for all_reduce "
      "'forward.reduce.decoder.layers.0.mlp.linear_fc2' on tp#1 {2, 3} (call 2), which does not "
      "match\n"
      "  rank 3 (tp 1, dp 1): waits for all_reduce "
      "'forward.reduce.decoder.layers.1.mlp.linear_fc2' on tp#1 {2, 3} (call 2), which does not "
      "match\n"
      "  rank 0 (tp 0, dp 0), rank 4 (tp 0, dp 2): waits for all_reduce 'finalize.dp_sum.bucket0' "
      "on dp_cp#0 {0, 2, 4} (call 1)\n"
      "    missing: rank 2 (tp 0, dp 1), which waits for all_reduce "
      "'forward.reduce.decoder.layers.0.mlp.linear_fc2' on tp#1 {2, 3}\n"
      "  rank 1 (tp 1, dp 0), rank 5 (tp 1, dp 2): waits for all_reduce 'finalize.dp_sum.bucket0' "
      "on dp_cp#1 {1, 3, 5} (call 1)\n"
      "    missing: rank 3 (tp 1, dp 1), which waits for all_reduce "
      "'forward.reduce.decoder.layers.1.mlp.linear_fc2' on tp#1 {2, 3}");
}

TEST(TrainingFaults, ARankThatThrowsIsToldInFull) {
  const ClusterReport report =
      train_with_faults(faulty_case(),
                        {{.rank = 4,
                          .label = kTotals,
                          .occurrence = 1,
                          .instead = throw_instead([] {
                            throw std::runtime_error("index 97 is outside of the vocabulary");
                          })}});
  ASSERT_EQ(report.findings.size(), 2U);
  EXPECT_EQ(report.findings[0].message,
            "rank 4 (tp 0, dp 2) threw: index 97 is outside of the vocabulary");
  EXPECT_EQ(report.findings[1].ranks, std::vector<Rank>{Rank{4}});
  EXPECT_EQ(report.findings[1].message,
            "deadlock: rank 0 (tp 0, dp 0) waits for rank 4 (tp 0, dp 2) in all_reduce "
            "'finalize.totals_sum' on dp_cp#0 {0, 2, 4}, rank 4 (tp 0, dp 2) threw: index 97 is "
            "outside of the vocabulary\n"
            "5 of 6 ranks wait and none can be woken:\n"
            "  rank 0 (tp 0, dp 0), rank 2 (tp 0, dp 1): waits for all_reduce "
            "'finalize.totals_sum' on dp_cp#0 {0, 2, 4} (call 8)\n"
            "    missing: rank 4 (tp 0, dp 2), which threw: index 97 is outside of the vocabulary\n"
            "  rank 1 (tp 1, dp 0): waits for all_reduce 'grad_norm.sum' on mp#0 {0, 1} (call 4)\n"
            "    missing: rank 0 (tp 0, dp 0), which waits for all_reduce 'finalize.totals_sum' on "
            "dp_cp#0 {0, 2, 4}\n"
            "  rank 3 (tp 1, dp 1): waits for all_reduce 'grad_norm.sum' on mp#1 {2, 3} (call 4)\n"
            "    missing: rank 2 (tp 0, dp 1), which waits for all_reduce 'finalize.totals_sum' on "
            "dp_cp#0 {0, 2, 4}\n"
            "  rank 5 (tp 1, dp 2): waits for all_reduce 'grad_norm.sum' on mp#2 {4, 5} (call 4)\n"
            "    missing: rank 4 (tp 0, dp 2), which threw: index 97 is outside of the vocabulary");
}

TEST(TrainingFaults, TheCaseAfterThemTrains) {
  train_with_faults(faulty_case(), {{.rank = 3, .label = kReduce, .instead = skip()}});
  EXPECT_TRUE(train_with_faults(faulty_case(), {}).findings.empty());
}

TEST(TrainingFaults, WhoeverSkipsIsBlamed) {
  for (const int rank : {0, 1, 2, 5}) {
    const int other = rank % 2 == 0 ? rank + 1 : rank - 1;
    const std::string name = "rank " + std::to_string(rank);
    const ClusterReport report =
        train_with_faults(faulty_case(), {{.rank = rank, .label = kReduce, .instead = skip()}});
    ASSERT_EQ(report.findings.size(), 1U);
    EXPECT_EQ(report.findings[0].ranks, std::vector<Rank>{Rank{rank}}) << "not " << other;
    expect_starts_with(report.findings[0].message, name + " (tp ");
  }
  expect_blame({{.rank = 2, .label = kBucket0, .instead = skip()}},
               {FindingKind::kMismatch,
                {Rank{2}},
                "rank 2 (tp 0, dp 1) calls all_reduce 'finalize.dp_sum.bucket1' where the others "
                "call all_reduce 'finalize.dp_sum.bucket0' on dp_cp#0 {0, 2, 4}: it has skipped "
                "'finalize.dp_sum.bucket0'\n"});
  expect_blame({{.rank = 4, .label = kTotals, .occurrence = 1, .instead = skip()}},
               {FindingKind::kDeadlock,
                {Rank{4}},
                "deadlock: rank 0 (tp 0, dp 0) waits for rank 4 (tp 0, dp 2) in all_reduce "
                "'finalize.totals_sum' on dp_cp#0 {0, 2, 4}, rank 4 (tp 0, dp 2) has returned\n"});
}

TEST(TrainingFaults, TwoOfThreeThatSkipAreBlamedWhereAnotherGroupKnowsBetter) {
  expect_blame({{.rank = 0, .label = kBucket0, .instead = skip()},
                {.rank = 2, .label = kBucket0, .instead = skip()}},
               {FindingKind::kMismatch,
                {Rank{0}, Rank{2}},
                "rank 0 (tp 0, dp 0), rank 2 (tp 0, dp 1) call all_reduce "
                "'finalize.dp_sum.bucket1' where rank 4 (tp 0, dp 2) calls all_reduce "
                "'finalize.dp_sum.bucket0' on dp_cp#0 {0, 2, 4}: they have skipped"});
}

TEST(TrainingFaults, AnotherCallIsToldByWhatDiffers) {
  const std::string rank4 = "rank 4 (tp 0, dp 2) calls ";
  const auto blame = [&](const std::string& what) {
    return Blame{FindingKind::kMismatch, {Rank{4}}, rank4 + what + " on dp_cp#0 {0, 2, 4}\n"};
  };
  const auto faults = [](const std::function<void(CollectiveCall&)>& edit) {
    return std::vector<TrainingFault>{{.rank = 4, .label = kBucket0, .instead = change(edit)}};
  };
  const std::string same = "all_reduce 'finalize.dp_sum.bucket0' with ";
  expect_blame(faults([](CollectiveCall& call) { --call.input.count, --call.output.count; }),
               blame(same + "count 2367 where the others have 2368"));
  expect_blame(
      faults([](CollectiveCall& call) { call.input.dtype = call.output.dtype = DType::kF32; }),
      blame(same + "dtype f32 where the others have f64"));
  expect_blame(faults([](CollectiveCall& call) { call.op = ReduceOp::kMax; }),
               blame(same + "op max where the others have sum"));
  expect_blame(faults([](CollectiveCall& call) { call.kind = CollectiveKind::kBroadcast; }),
               blame("broadcast 'finalize.dp_sum.bucket0' where the others call all_reduce "
                     "'finalize.dp_sum.bucket0'"));
}

// Neither is in the majority: what other groups call at that place decides.
TEST(TrainingFaults, OfTwoRanksTheOneWithAnUnusualCountIsBlamed) {
  expect_blame({{.rank = 2, .label = kReduce, .instead = change([](CollectiveCall& call) {
                                                call.input.count = call.output.count =
                                                    call.input.count / 2;
                                              })}},
               {FindingKind::kMismatch,
                {Rank{2}},
                "rank 2 (tp 0, dp 1) calls all_reduce "
                "'forward.reduce.decoder.layers.0.mlp.linear_fc2' with count 128 where rank 3 "
                "(tp 1, dp 1) has 256 on tp#1 {2, 3}\n"});
}

TEST(TrainingFaults, ACallMadeTwiceIsToldAsRepeated) {
  expect_blame({{.rank = 3, .label = kBucket0, .instead = repeat()}},
               {FindingKind::kMismatch,
                {Rank{3}},
                "rank 3 (tp 1, dp 1) calls all_reduce 'finalize.dp_sum.bucket0' where the others "
                "call all_reduce 'finalize.dp_sum.bucket1' on dp_cp#1 {1, 3, 5}: it repeats call 1 "
                "of the group\n"});
}

TEST(TrainingFaults, ACallOnTheWrongGroupIsToldWithTheRightOne) {
  for (const GroupKind kind : {GroupKind::kDp, GroupKind::kWorld}) {
    const std::string group =
        kind == GroupKind::kDp ? "dp#0 {0, 2, 4}" : "world#0 {0, 1, 2, 3, 4, 5}";
    expect_blame(
        {{.rank = 2, .label = kBucket0, .instead = send_to_group(kind)}},
        {FindingKind::kDeadlock,
         {Rank{2}},
         "deadlock: rank 2 (tp 0, dp 1) calls all_reduce 'finalize.dp_sum.bucket0' on " + group +
             ", the wrong group: rank 0 (tp 0, dp 0), rank 4 (tp 0, dp 2) call it on "
             "dp_cp#0 {0, 2, 4}\n"});
  }
  // Under sequence parallelism two calls meet in the wrong group, and what does not match comes
  // first.
  Case c = faulty_case();
  c.layout.sp = true;
  expect_blame({{.rank = 2, .label = kBucket0, .instead = send_to_group(GroupKind::kTp)}},
               {FindingKind::kMismatch,
                {Rank{2}},
                "rank 2 (tp 0, dp 1) calls all_reduce 'finalize.dp_sum.bucket0' where rank 3 "
                "(tp 1, dp 1) calls all_reduce "
                "'finalize.tp_sum.decoder.layers.0.mlp.linear_fc1.layer_norm_weight' on tp#1 "
                "{2, 3} (call 57 of the group)\n"
                "rank 2 (tp 0, dp 1) calls all_reduce 'finalize.dp_sum.bucket0' on tp#1 {2, 3}, "
                "the wrong group: rank 0 (tp 0, dp 0), rank 4 (tp 0, dp 2) call it on dp_cp#0 "
                "{0, 2, 4}\n"},
               c);
}

TEST(TrainingFaults, SwappedCallsAreASkippedOne) {
  expect_blame({{.rank = 2, .label = kBucket0, .instead = change([](CollectiveCall& call) {
                                                 call.label = kBucket1;
                                               })},
                {.rank = 2, .label = kBucket1, .instead = change([](CollectiveCall& call) {
                                                 call.label = kBucket0;
                                               })}},
               {FindingKind::kMismatch,
                {Rank{2}},
                "rank 2 (tp 0, dp 1) calls all_reduce 'finalize.dp_sum.bucket1' where the others "
                "call all_reduce 'finalize.dp_sum.bucket0' on dp_cp#0 {0, 2, 4}: it has skipped"});
}

TEST(TrainingFaults, TwoRanksWithFaultsOfTheirOwnAreBothBlamed) {
  expect_blame({{.rank = 1, .label = kReduce, .instead = skip()},
                {.rank = 4, .label = kBucket0, .instead = change([](CollectiveCall& call) {
                                                 call.op = ReduceOp::kMax;
                                               })}},
               {FindingKind::kMismatch,
                {Rank{1}, Rank{4}},
                "rank 4 (tp 0, dp 2) calls all_reduce 'finalize.dp_sum.bucket0' with op max where "
                "rank 2 (tp 0, dp 1) has sum on dp_cp#0 {0, 2, 4}\n"
                "rank 1 (tp 1, dp 0) calls all_reduce"});
}

TEST(TrainingFaults, WhateverARankThrowsIsItsError) {
  const auto thrower = [](const std::function<void()>& thrown) {
    return std::vector<TrainingFault>{
        {.rank = 3, .label = kReduce, .occurrence = 1, .instead = throw_instead(thrown)}};
  };
  const auto blame = [](const std::string& what) {
    return Blame{FindingKind::kRankError, {Rank{3}}, "rank 3 (tp 1, dp 1) threw: " + what};
  };
  expect_blame(thrower([] { throw 42; }),
               blame("an object of type int, which is no std::exception"));
  expect_blame(thrower([] { throw std::runtime_error("two\nlines"); }), blame("two\n  lines"));
  expect_blame(thrower([] { throw RankCancelled{}; }),
               blame("RankCancelled, though nothing had cancelled it"));
}

TEST(TrainingFaults, ACallThatIsNotWaitedForIsPending) {
  const Disturbance forget =
      [](Communicator& own, std::span<const CollectiveCall> calls, const CommunicatorsOfRank&) {
        own.submit(calls);
        return Ticket{};
      };
  for (const RankHost host : {RankHost::kFibers, RankHost::kThreads}) {
    const ClusterReport report = train_with_faults(
        faulty_case(), {{.rank = 2, .label = kBucket0, .instead = forget}}, {.host = host});
    ASSERT_EQ(report.findings.size(), 1U);
    EXPECT_EQ(report.findings[0].message,
              "all_reduce 'finalize.dp_sum.bucket0' on dp_cp#0 {0, 2, 4} was submitted and never "
              "waited for by rank 2 (tp 0, dp 1)");
  }
}

TEST(TrainingFaults, OneOfAThousandRanksIsFoundAndTheReportStaysShort) {
  Case c = faulty_case();
  c.layout.tp = 2;
  c.layout.dp = 512;
  c.recipe.global_batch = 512;
  c.recipe.steps = 1;
  const ClusterReport report =
      train_with_faults(c, {{.rank = 777, .label = kReduce, .instead = skip()}});
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].ranks, std::vector<Rank>{Rank{777}});
  expect_starts_with(report.findings[0].message, "rank 777 (tp 1, dp 388) calls all_reduce");
  EXPECT_LT(report.findings[0].message.size(), 8000U) << report.findings[0].message;
}

}  // namespace
}  // namespace lockstep::test
