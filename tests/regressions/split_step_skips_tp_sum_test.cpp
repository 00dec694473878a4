// A split step that finishes by hand leaves what tensor ranks hold in copies unsummed over tp.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/config/expression.h"
#include "matrix/spec/expand.h"
#include "matrix/sweep/run_case.h"
#include "simulator/defects/trial_setup.h"
#include "simulator/runtime/trial.h"

namespace lockstep {
namespace {

using matrix::CaseResult;
using matrix::CaseRunner;
using matrix::NamedCase;
using matrix::RunOptions;
using matrix::Verdict;
using sim::CheckResult;
using sim::CheckVerdict;
using sim::TrialResult;

constexpr const char* kDefect = "B01-split-step-skips-tp-sum";
constexpr const char* kQueryNorm = "decoder.layers.0.self_attention.q_layernorm.weight";
constexpr const char* kKeyNorm = "decoder.layers.0.self_attention.k_layernorm.weight";

// In bf16, main gradients and masters are f32.
constexpr Precision kBoth[] = {Precision::kBF16, Precision::kF64};

std::vector<NamedCase> cases_where(const std::string& condition) {
  const matrix::Spec spec =
      matrix::load_spec(std::string(LOCKSTEP_MATRICES) + "/split-step.yaml", {});
  const Expression chosen = Expression::parse(condition);
  std::vector<NamedCase> cases = matrix::expand(spec);
  std::erase_if(cases, [&](const NamedCase& one) { return !chosen.holds(one.c); });
  return cases;
}

// The module of the report on two tensor ranks, in three calls a step. All 32 positions have a
// target, so that dividing by their number is exact.
Case report_case(Precision dtype, bool sp) {
  Case c = cases_where("tp == 2 && step_api == split && qk_norm && mask == full").at(0).c;
  c.recipe.dtype = dtype;
  c.layout.sp = sp;
  return c;
}

Case with_defect(Case c) {
  c.defects = {kDefect};
  return c;
}

TrialResult run_trial(const Case& c) {
  TrialResult trial = sim::run_trial(c, {});
  EXPECT_EQ(sim::why_unfinished(trial.cluster), std::nullopt);
  return trial;
}

bool is_head_norm(const std::string& name) { return name == kQueryNorm || name == kKeyNorm; }

bool is_norm(const std::string& name) {
  return name.find("layernorm") != std::string::npos ||
         name.find("layer_norm") != std::string::npos;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  });
}

const std::vector<double>& gradient_of(const TrialResult& trial,
                                       std::size_t rank,
                                       const std::string& name) {
  for (const Shard& shard : trial.ranks.at(rank).steps.at(0).gradients) {
    if (shard.name == name) return shard.values;
  }
  throw std::out_of_range(name);
}

// Names of the parameters that the table does not cut.
std::vector<std::string> replicated(const Case& c) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : sim::make_setup(c).plans.table) {
    if (!spec.cut.has_value()) names.push_back(spec.name);
  }
  return names;
}

TEST(SplitStepSkipsTpSum, TwoTensorRanksSeeDifferentPartsOfWhatTheyHoldInCopies) {
  for (const Precision dtype : kBoth) {
    for (const bool sp : {false, true}) {
      const Case c = report_case(dtype, sp);
      // Without the sum, gradients stay what each rank's own backward passes left.
      const TrialResult unsummed = run_trial(with_defect(c));
      int num_different = 0;
      for (const std::string& name : replicated(c)) {
        const bool differ =
            !same_bits(gradient_of(unsummed, 0, name), gradient_of(unsummed, 1, name));
        EXPECT_EQ(differ, is_head_norm(name) || (sp && is_norm(name))) << name;
        num_different += differ ? 1 : 0;
      }
      EXPECT_EQ(num_different, sp ? 5 : 2);
    }
  }
}

TEST(SplitStepSkipsTpSum, AFinishedStepHoldsEveryCopyEqualToTheBit) {
  for (const Precision dtype : kBoth) {
    for (const bool sp : {false, true}) {
      const Case c = report_case(dtype, sp);
      const TrialResult clean = run_trial(c);
      const std::vector<std::string> names = replicated(c);
      EXPECT_EQ(names.size(), 5U);
      for (const std::string& name : names) {
        EXPECT_TRUE(same_bits(gradient_of(clean, 0, name), gradient_of(clean, 1, name))) << name;
      }
    }
  }
}

// Of the type that main gradients have.
double rounded(Precision dtype, double value) {
  return dtype == Precision::kF64 ? value : static_cast<double>(static_cast<float>(value));
}

// To the bit: a sum of two has one rounding, in double or, of two f32, as if it were in f32; and
// the gradients were divided by 32 before or after it, a power of two.
TEST(SplitStepSkipsTpSum, ThePartsOfBothRanksAddUpToTheGradientOfTheFinishedStep) {
  for (const Precision dtype : kBoth) {
    for (const bool sp : {false, true}) {
      const Case c = report_case(dtype, sp);
      const TrialResult unsummed = run_trial(with_defect(c));
      const TrialResult clean = run_trial(c);
      for (const std::string& name : replicated(c)) {
        if (!is_head_norm(name) && !sp) continue;
        std::vector<double> sum = gradient_of(unsummed, 0, name);
        const std::vector<double>& other = gradient_of(unsummed, 1, name);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = rounded(dtype, sum[i] + other[i]);
        EXPECT_TRUE(same_bits(sum, gradient_of(clean, 0, name))) << name;
      }
    }
  }
}

const std::vector<Shard>& masters_of(const StepResult& step) {
  return step.masters.empty() ? step.parameters : step.masters;
}

// The largest difference between the two ranks' copies of what the optimizer updates.
double drift(const TrialResult& trial, std::size_t step, const std::string& name) {
  const std::vector<Shard>& first = masters_of(trial.ranks.at(0).steps.at(step));
  const std::vector<Shard>& second = masters_of(trial.ranks.at(1).steps.at(step));
  double largest = -1.0;  // where the parameter is not found
  for (std::size_t p = 0; p < first.size(); ++p) {
    if (first[p].name != name) continue;
    for (std::size_t i = 0; i < first[p].values.size(); ++i) {
      largest = std::max(largest, std::abs(first[p].values[i] - second.at(p).values.at(i)));
    }
  }
  return largest;
}

TEST(SplitStepSkipsTpSum, CopiesOfTheQueryNormDriftFurtherApartWithEveryStep) {
  for (const Precision dtype : kBoth) {
    const Case c = report_case(dtype, false);
    const TrialResult unsummed = run_trial(with_defect(c));
    const TrialResult clean = run_trial(c);
    ASSERT_EQ(c.recipe.steps, 3);
    double before = 0.0;
    for (std::size_t step = 0; step < 3; ++step) {
      const double now = drift(unsummed, step, kQueryNorm);
      EXPECT_GT(now, before) << "step " << step;
      EXPECT_EQ(drift(clean, step, kQueryNorm), 0.0);
      before = now;
    }
  }
}

// What the report says, over the whole spec.
class SplitStepMatrix : public testing::TestWithParam<const char*> {
 protected:
  std::vector<NamedCase> cases() const {
    return cases_where(std::string("dtype == ") + GetParam());
  }
};

TEST_P(SplitStepMatrix, PassesClean) {
  CaseRunner runner((RunOptions()));
  const std::vector<NamedCase> cases = this->cases();
  EXPECT_EQ(cases.size(), 80U);
  for (const NamedCase& one : cases) {
    const CaseResult result = runner.run(one.name, one.c);
    EXPECT_EQ(result.verdict, Verdict::kPass) << one.name << " " << result.reason;
  }
}

bool shows(const Case& c) {
  return c.layout.tp > 1 && c.recipe.step_api == StepApi::kSplit &&
         (c.model.qk_norm || c.layout.sp);
}

TEST_P(SplitStepMatrix, FailsWithTheDefectExactlyWhereTheReportSays) {
  CaseRunner runner((RunOptions()));
  int num_failing = 0;
  for (const NamedCase& one : cases()) {
    const CaseResult result = runner.run(one.name, with_defect(one.c));
    EXPECT_EQ(result.verdict, shows(one.c) ? Verdict::kFail : Verdict::kPass)
        << one.name << " " << result.reason;
    num_failing += result.verdict == Verdict::kFail ? 1 : 0;
  }
  EXPECT_EQ(num_failing, 24);
}

// What ranks hold in copies and see only a part of: their own heads, or their own tokens.
std::set<std::string> seen_in_part(const Case& c) {
  std::set<std::string> names;
  for (const std::string& name : replicated(c)) {
    if (is_head_norm(name) || (c.layout.sp && is_norm(name))) names.insert(name);
  }
  return names;
}

const CheckResult& result_of(const CaseResult& result, const std::string& check) {
  for (const CheckResult& one : result.checks) {
    if (one.check == check) return one;
  }
  throw std::out_of_range(check);
}

std::set<std::string> failing_places(const CheckResult& check) {
  std::set<std::string> places;
  for (const sim::Place& place : check.failures) places.insert(place.where);
  return places;
}

TEST_P(SplitStepMatrix, NamesEveryGradientThatIsSeenInPartAndTheSumThatIsMissing) {
  CaseRunner runner({.checks = {"grads", "replicas"}});
  for (const NamedCase& one : cases()) {
    if (!shows(one.c)) continue;
    SCOPED_TRACE(one.name);
    const CaseResult result = runner.run(one.name, with_defect(one.c));
    const CheckResult& grads = result_of(result, "grads");
    const CheckResult& replicas = result_of(result, "replicas");
    EXPECT_EQ(grads.verdict, CheckVerdict::kFail);
    EXPECT_EQ(replicas.verdict, CheckVerdict::kFail);
    // Places of the first step bear no step, and later ones are not listed.
    const std::set<std::string> names = seen_in_part(one.c);
    ASSERT_LT(names.size(), sim::kMaxPlaces);
    EXPECT_EQ(failing_places(grads), names);
    std::set<std::string> gradients;
    for (const std::string& name : names) gradients.insert(name + " (gradient)");
    EXPECT_EQ(failing_places(replicas), gradients);
    // In bf16 too: its bounds are wider, and so are the gradients wrong by more than them.
    for (const sim::Place& place : grads.failures) {
      EXPECT_EQ(place.hint, "sum over tp = reference: not summed there") << place.where;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions,
                         SplitStepMatrix,
                         testing::Values("bf16", "f64"),
                         [](const testing::TestParamInfo<const char*>& dtype) {
                           return std::string(dtype.param);
                         });

}  // namespace
}  // namespace lockstep
