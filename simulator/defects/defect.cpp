// The table of defects: the rows of all files, in order.
#include "simulator/defects/defect.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/base/errors.h"
#include "core/config/fields.h"
#include "core/ops/cpu/kernels.h"
#include "simulator/defects/rows.h"
#include "simulator/defects/trial_setup.h"

namespace lockstep::sim {
namespace {

// B06 before B27 before B105, T23 before Th.
bool is_before(const Defect& a, const Defect& b) {
  const auto key = [](const Defect& defect) {
    const std::string_view number = std::string_view(defect.id).substr(0, defect.id.find('-'));
    return std::tuple(
        number[0], number.size() > 3 ? number.size() : 3, std::string_view(defect.id));
  };
  return key(a) < key(b);
}

std::vector<Defect> all_rows() {
  std::vector<Defect> all;
  for (const auto& rows : {replicated_gradient_rows(),
                           gradient_sum_rows(),
                           loss_rows(),
                           norm_rows(),
                           initial_rows(),
                           tensor_parallel_rows(),
                           context_parallel_rows(),
                           masked_loss_rows(),
                           dropout_rows()}) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  std::sort(all.begin(), all.end(), is_before);
  return all;
}

}  // namespace

std::span<const Defect> defects() {
  static const std::vector<Defect> table = all_rows();
  return table;
}

const Defect& find_defect(std::string_view id) {
  std::vector<std::string> known;
  for (const Defect& defect : defects()) {
    if (defect.id == id) return defect;
    known.push_back(defect.id);
  }
  const std::string nearest = nearest_name(id, known);
  throw UsageError(
      "unknown defect '" + std::string(id) + "'" +
      (nearest.empty() ? "; see 'lockstep list defects'" : "; did you mean '" + nearest + "'?"));
}

TrialSetup make_edited_setup(const Case& c) { return make_edited_setup(c, cpu_kernels()); }

TrialSetup make_edited_setup(const Case& c, const KernelTable& kernels) {
  TrialSetup setup = make_setup(c, kernels);
  for (const std::string& id : c.defects) find_defect(id).edit(c, setup);
  return setup;
}

}  // namespace lockstep::sim
