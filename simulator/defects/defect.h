// A defect: a known bug as a row of data, edited into a trial's setup before it runs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/config/case.h"

namespace lockstep {
struct KernelTable;
}

namespace lockstep::sim {

struct TrialSetup;

struct Defect {
  // B: number in the corpus of public reports. T: trap of semantics, section 12, by number or, of
  // its short list, by letter. S: section of semantics. B27-dp-reduction-missing
  std::string id;
  std::string source;   // public report, or where the mechanism is told
  std::string summary;  // the mechanism in one sentence
  // Where some check must fail: an expression over the fields of a case that trains.
  std::string visible_when;
  void (*edit)(const Case&, TrialSetup&);
};

// In the order of their ids: by letter, then number.
std::span<const Defect> defects();

// UsageError naming the nearest for an unknown id.
const Defect& find_defect(std::string_view id);

// The setup of a case with all of its defects edited in, in the order in which the case names them.
TrialSetup make_edited_setup(const Case& c);
// With the kernels of another device than the CPU.
TrialSetup make_edited_setup(const Case& c, const KernelTable& kernels);

}  // namespace lockstep::sim
