// A defect: a known bug as a row of data, edited into a trial's plans before it runs.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace lockstep {
struct Plans;
}

namespace lockstep::sim {

struct Defect {
  std::string id;            // corpus number first: B27-dp-reduction-missing
  std::string source;        // public report
  std::string summary;       // mechanism in one sentence
  std::string visible_when;  // expression over the case's fields
  std::function<void(Plans&)> edit;
};

// In the order of their ids.
std::span<const Defect> defects();
// UsageError naming the nearest for an unknown id.
const Defect& find_defect(std::string_view id);

}  // namespace lockstep::sim
