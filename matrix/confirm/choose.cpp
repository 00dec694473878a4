// Greedy cover: what a case would show only shrinks as others are chosen, so a queue with outdated
// counts finds the next one without counting all of them again.
#include "matrix/confirm/choose.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

#include "core/config/fields.h"

namespace lockstep::matrix {
namespace {

// Why there is nothing to confirm; none where there is.
std::optional<std::string> why_unfit(const CaseResult& result) {
  switch (result.verdict) {
    case Verdict::kPass:
    case Verdict::kFail:
      return std::nullopt;
    case Verdict::kError:
      if (!result.digest.empty()) return std::nullopt;
      return "the sweep could not run it";
    case Verdict::kTimeout:
      return "the sweep ran out of time";
    case Verdict::kInvalid:
      return "its layout cannot exist";
    case Verdict::kSkipped:
      return "the sweep skipped it";
  }
  return std::nullopt;
}

// A field, its value and the verdict seen with it.
using Shown = std::tuple<std::string, std::string, Verdict>;

// Numbers for what cases show, so that sets of it are cheap.
class Numbering {
 public:
  std::vector<std::size_t> of(const CaseResult& result) {
    std::vector<std::size_t> shown;
    for (const Field& field : fields()) {
      shown.push_back(number(field.name, to_text(field.get(result.c)), result.verdict));
    }
    for (const std::string& defect : result.c.defects) {
      shown.push_back(number("defect", defect, result.verdict));
    }
    return shown;
  }
  std::size_t size() const { return numbers_.size(); }

 private:
  std::size_t number(const std::string& field, const std::string& value, Verdict verdict) {
    return numbers_.emplace(Shown{field, value, verdict}, numbers_.size()).first->second;
  }

  std::map<Shown, std::size_t> numbers_;
};

struct Candidate {
  std::size_t num_new = 0;  // that it would show; perhaps fewer by now
  std::int64_t world = 0;   // 1: comes last
  std::string name;
  std::size_t index = 0;
  std::vector<std::size_t> shown;
};

struct IsLessTelling {
  bool operator()(const Candidate& a, const Candidate& b) const {
    if ((a.world == 1) != (b.world == 1)) return a.world == 1;
    if (a.num_new != b.num_new) return a.num_new < b.num_new;
    return std::tie(b.world, b.name, b.index) < std::tie(a.world, a.name, a.index);
  }
};

using Candidates = std::priority_queue<Candidate, std::vector<Candidate>, IsLessTelling>;

std::vector<std::size_t> most_telling(Candidates candidates,
                                      std::size_t num_values,
                                      std::size_t limit) {
  std::vector<bool> is_shown(num_values, false);
  std::vector<std::size_t> chosen;
  while (!candidates.empty() && chosen.size() < limit) {
    Candidate next = candidates.top();
    candidates.pop();
    const auto num_new = static_cast<std::size_t>(std::count_if(
        next.shown.begin(), next.shown.end(), [&](std::size_t value) { return !is_shown[value]; }));
    if (num_new < next.num_new) {
      next.num_new = num_new;
      candidates.push(std::move(next));
      continue;
    }
    for (const std::size_t value : next.shown) is_shown[value] = true;
    chosen.push_back(next.index);
  }
  return chosen;
}

}  // namespace

Choice choose_cases(const std::vector<CaseResult>& results,
                    const WhyNot& why_not,
                    std::optional<std::size_t> limit) {
  Choice choice;
  Numbering numbering;
  Candidates candidates;
  std::map<std::string, std::int64_t> left_out;
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::optional<std::string> reason = why_unfit(results[i]);
    if (!reason) reason = why_not(results[i].c);
    if (reason) {
      ++left_out[*reason];
      continue;
    }
    std::vector<std::size_t> shown = numbering.of(results[i]);
    const std::size_t num_shown = shown.size();
    candidates.push({.num_new = num_shown,
                     .world = world_size(results[i].c.layout),
                     .name = results[i].name,
                     .index = i,
                     .shown = std::move(shown)});
  }
  choice.num_fit = candidates.size();
  choice.chosen =
      most_telling(std::move(candidates), numbering.size(), limit.value_or(results.size()));
  for (const auto& [reason, num_cases] : left_out) choice.left_out.push_back({reason, num_cases});
  std::stable_sort(choice.left_out.begin(),
                   choice.left_out.end(),
                   [](const LeftOut& a, const LeftOut& b) { return a.num_cases > b.num_cases; });
  return choice;
}

}  // namespace lockstep::matrix
