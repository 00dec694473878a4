// Every defect measured over small matrices: where its edit changes nothing the bits are the clean
// run's, and where it says that it is visible some check fails.
#include <gtest/gtest.h>

#include <set>

#include "core/base/errors.h"
#include "core/config/case_json.h"
#include "core/config/expression.h"
#include "core/config/presets.h"
#include "core/config/rules.h"
#include "matrix/mutate/mutants.h"
#include "matrix/sweep/run_case.h"
#include "simulator/defects/defect.h"

namespace lockstep {
namespace {

using matrix::CaseResult;
using matrix::CaseRunner;
using matrix::MutantState;
using matrix::NamedCase;
using matrix::RunOptions;
using matrix::RunRecord;
using matrix::Verdict;

// Together they have what each row needs to be visible, and what leaves it inert.
constexpr const char* kCases[] = {
    R"("preset":"tiny-linear")",
    R"("preset":"tiny-linear","tp":2,"dp":3,"loss_norm":"token")",
    R"("preset":"tiny-linear","tp":2,"dp":2,"loss_norm":"micro_batch","mask":"single")",
    R"("preset":"tiny-linear","tp":4,"dp":2,"mask":"none")",
    R"("loss_norm":"token","mask":"full")",
    R"("tp":2,"sp":true,"dp":2,"step_api":"split","overlap":["grad"],"bias":true)",
    R"("tp":4,"step_api":"split","gather_output":true,"tied":true,"loss_norm":"token")",
    R"("tp":4,"sp":true,"num_key_value_heads":1,"bias":true,"label_smoothing":0.1,"mask":"full")",
    R"("tp":2,"dp":3,"overlap":["grad"],"loss_norm":"micro_batch","mask":"full")",
    R"("tp":2,"num_key_value_heads":8,"qk_norm":false,"mlp":"plain","norm":"layer","bias":true)",
    R"("tp":8,"num_key_value_heads":1,"dp":2,"loss_norm":"token","mask":"varying")",
    R"("tp":2,"sp":true,"dtype":"bf16","step_api":"split")",
    R"("dp":2,"overlap":["grad"],"mask":"none")",
    R"("preset":"tiny-dense","dp":2,"global_batch":2,"overlap":["grad"])",
    R"("vocab_size":96,"vocab_divisor":1,"weight_decay":0,"loss_norm":"micro_batch")",
    R"("cp":2,"tp":2,"dp":2,"loss_norm":"micro_batch","attention_sink":true)",
    R"("cp":2,"dp":3,"cp_comm":"all_gather","loss_values":2,"loss_norm":"micro_batch",
       "sliding_window":5)",
    R"("cp":4,"packing":true,"loss_norm":"token","mask":"full","attention_sink":true)",
    R"("cp":2,"tp":2,"sp":true,"cp_comm":"a2a","num_key_value_heads":8,"dropout":0.1,"dp":2,
       "overlap":["grad"],"loss_norm":"token")",
    R"("tp":2,"cp":2,"dp":2,"dropout":0.2,"packing":true)",
    R"("cp":4,"cp_comm":"a2a+p2p","attention_sink":true,"loss_norm":"micro_batch","mask":"single")",
    R"("cp":2,"tp":2,"forward_only":true,"loss_norm":"micro_batch")",
};

std::vector<NamedCase> small_matrix() {
  std::vector<NamedCase> cases;
  for (const std::string settings : kCases) {
    const bool has_preset = settings.starts_with(R"("preset")");
    const std::string dense =
        R"("preset":"tiny-dense","global_batch":6,"seq":16,"num_hidden_layers":1,)";
    const std::string json = "{" + (has_preset ? "" : dense) + settings + "}";
    cases.push_back({.name = json, .c = case_from_json(json), .invalid_reason = {}});
  }
  return cases;
}

class EachDefect : public testing::TestWithParam<std::size_t> {
 protected:
  const sim::Defect& defect() const { return sim::defects()[GetParam()]; }
};

TEST_P(EachDefect, IsCaughtWhereItIsVisibleAndLeavesTheBitsWhereItChangesNothing) {
  const matrix::MutationPlan plan = matrix::plan_mutation(small_matrix(), {defect()});
  CaseRunner runner((RunOptions()));
  std::vector<RunRecord> records;
  for (const NamedCase& run : plan.runs) records.push_back(record_of(runner.run(run.name, run.c)));
  std::multiset<MutantState> states;
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    const RunRecord& clean = records[plan.roles[i].clean];
    ASSERT_EQ(clean.verdict, Verdict::kPass) << plan.runs[i].name << clean.reason;
    if (!plan.roles[i].row.has_value()) continue;
    const matrix::Judgement judgement = judge(plan.roles[i].traits, clean, records[i]);
    EXPECT_EQ(judgement.alarm, "") << plan.runs[i].name;
    EXPECT_NE(judgement.state, MutantState::kMissed) << plan.runs[i].name;
    // Every check has a say before anything is an error.
    EXPECT_NE(records[i].verdict, Verdict::kError) << records[i].reason;
    states.insert(judgement.state);
  }
  // A condition that never holds, or always does, would prove nothing.
  EXPECT_GT(states.count(MutantState::kCaught), 0U);
  EXPECT_LT(states.count(MutantState::kCaught), states.size());
}

// Few small micro-batches over many seeds: draws without any target, and with equal counts.
std::vector<Case> small_batches(const Case& base) {
  std::vector<Case> cases;
  for (const Mask mask :
       {Mask::kFull, Mask::kUneven, Mask::kSingle, Mask::kEmpty, Mask::kVarying}) {
    for (const std::int64_t dp : {1, 2}) {
      for (const std::int64_t micro_batch : {1, 2}) {
        for (const std::int64_t num_micro_batches : {1, 2, 3}) {
          for (std::int64_t seed = 0; seed < 3; ++seed) {
            Case c = base;
            c.layout.dp = dp;
            c.model.num_hidden_layers = 1;
            c.recipe.mask = mask;
            c.recipe.steps = 1;
            c.recipe.micro_batch = micro_batch;
            c.recipe.global_batch = num_micro_batches * dp * micro_batch;
            c.recipe.seed = seed;
            cases.push_back(c);
          }
        }
      }
    }
  }
  return cases;
}

// Of rows whose conditions have the word; of all rows where there is none.
struct Base {
  std::string word;
  std::string json;
};

std::vector<Base> bases() {
  return {
      {"",
       R"("preset":"tiny-linear","tp":2,"seq":4,"loss_norm":"token","gather_output":true,
          "weight_decay":0.1)"},
      {"",
       R"("tp":4,"vocab_divisor":2,"bias":true,"label_smoothing":0.1,"seq":32,
          "step_api":"split","overlap":["grad"],"completion":"early","loss_norm":"micro_batch")"},
      {"", R"("tp":2,"sp":true,"bias":true,"step_api":"split","seq":8)"},
      {"cp ", R"("cp":2,"loss_norm":"micro_batch","attention_sink":true,"seq":8)"},
      {"cp ", R"("cp":2,"tp":2,"cp_comm":"all_gather","loss_norm":"token","seq":8)"},
      {"micro_batch && tp", R"("cp":2,"tp":2,"loss_norm":"micro_batch","seq":8)"},
      {"loss_values", R"("cp":2,"loss_values":2,"loss_norm":"micro_batch","seq":8)"},
      {"sliding_window", R"("sliding_window":4,"seq":16)"},
      {"packing", R"("cp":2,"packing":true,"loss_norm":"token","seq":16)"},
      {"dropout", R"("tp":2,"cp":2,"dropout":0.1,"loss_norm":"micro_batch","seq":8)"},
      {"dropout", R"("tp":2,"sp":true,"dropout":0.1,"seq":8)"},
  };
}

Case case_of(const Base& base) {
  const bool has_preset = base.json.starts_with(R"("preset")");
  const std::string dense =
      R"("preset":"tiny-dense","hidden_size":16,"intermediate_size":16,"head_dim":4,
         "vocab_size":20,)";
  return case_from_json("{" + (has_preset ? "" : dense) + base.json + "}");
}

TEST_P(EachDefect, PromisesToBeSeenOnlyWhereTheDrawOfFewTokensCannotHideIt) {
  const Expression visible_when = Expression::parse(defect().visible_when);
  CaseRunner runner((RunOptions()));
  int num_visible = 0;
  for (const Base& base : bases()) {
    if (defect().visible_when.find(base.word) == std::string::npos) continue;
    for (const Case& clean : small_batches(case_of(base))) {
      if (why_invalid(clean).has_value() || !visible_when.holds(clean)) continue;
      ++num_visible;
      Case edited = clean;
      edited.defects = {defect().id};
      EXPECT_EQ(runner.run("edited", edited).verdict, Verdict::kFail) << case_to_json(edited);
    }
  }
  EXPECT_GT(num_visible, 0);
}

INSTANTIATE_TEST_SUITE_P(Defects,
                         EachDefect,
                         testing::Range(std::size_t{0}, sim::defects().size()),
                         [](const testing::TestParamInfo<std::size_t>& row) {
                           std::string name = sim::defects()[row.param].id;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(Defects, AnUnknownIdNamesTheNearest) {
  try {
    sim::find_defect("B27-dp-reduction-mising");
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'B27-dp-reduction-missing'?"),
              std::string::npos)
        << error.what();
  }
}

TEST(Defects, RowsAreWholeAndEachIdIsThereOnce) {
  std::set<std::string> ids;
  for (const sim::Defect& defect : sim::defects()) {
    EXPECT_TRUE(ids.insert(defect.id).second) << defect.id;
    EXPECT_FALSE(defect.source.empty() || defect.summary.empty() || defect.edit == nullptr);
    EXPECT_NO_THROW(Expression::parse(defect.visible_when)) << defect.id;
  }
}

TEST(Defects, AreInTheOrderOfTheirNumbers) {
  std::vector<std::string> ids;
  for (const sim::Defect& defect : sim::defects()) ids.push_back(defect.id);
  const auto place = [&](const std::string& id) { return std::find(ids.begin(), ids.end(), id); };
  EXPECT_EQ(ids.front(), "B01-split-step-skips-tp-sum");
  EXPECT_LT(place("B27-dp-reduction-missing"), place("B105-gate-and-up-cut-as-one"));
  EXPECT_LT(place("B152-every-data-rank-reads-the-same"), place("S56-replicas-from-own-seeds"));
  EXPECT_LT(place("T21-dp-reduction-twice"), place("Tj-decay-by-flat-shape"));
}

TEST(Defects, SeveralAreEditedInTogether) {
  Case c = preset_case("tiny-linear");
  c.layout.tp = 2;
  c.layout.dp = 3;
  c.defects = {"S53-averaged-over-the-world", "T21-dp-reduction-twice"};
  const CaseResult result = CaseRunner({.checks = {"grads"}}).run("two", c);
  EXPECT_EQ(result.checks.at(0).worst.hint, "x1.5 = dp/tp");
}

}  // namespace
}  // namespace lockstep
