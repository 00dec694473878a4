// All checks that the contract names, built or not.
#include "simulator/checks/checks.h"

#include <algorithm>

#include "simulator/checks/activations.h"
#include "simulator/checks/clip.h"
#include "simulator/checks/collectives.h"
#include "simulator/checks/grads.h"
#include "simulator/checks/loss.h"
#include "simulator/checks/norms.h"
#include "simulator/checks/params.h"
#include "simulator/checks/replicas.h"
#include "simulator/checks/update.h"

namespace lockstep::sim {
namespace {

using Run = CheckResult (*)(const TrialResult&, const MeasuredOracle&);

Check built(std::string name, std::string summary, Run run) {
  return {.name = std::move(name), .summary = std::move(summary), .built = true, .run = run};
}

Check judging_unfinished(Check check) {
  check.judges_unfinished = true;
  return check;
}

Check planned(std::string name, std::string summary) {
  return {.name = std::move(name), .summary = std::move(summary), .built = false, .run = nullptr};
}

std::vector<Check> all_checks() {
  return {
      built("loss",
            "holds when per-micro-batch, global and reported losses equal the reference on every "
            "rank",
            check_loss),
      built("activations",
            "holds when the traced activations of every micro-batch equal the reference",
            check_activations),
      built("grads",
            "holds when every parameter's gradient after finalisation equals the reference",
            check_grads),
      built("replicas",
            "holds when gradients, parameters and optimizer state are bitwise equal on all ranks "
            "that "
            "hold them",
            check_replicas),
      built("norms",
            "holds when gradient and parameter norms and their probes are right on every rank",
            check_norms),
      built(
          "clip", "holds when every parameter's clipped gradient equals the reference", check_clip),
      built("update",
            "holds when the optimizer applied to this run's own gradients gives its masters",
            check_update),
      built("params", "holds when parameters after each step equal the reference", check_params),
      judging_unfinished(built("collectives",
                               "holds when every collective call matched and none was left pending",
                               check_collectives)),
      planned("races", "holds when no two unordered accesses to one buffer include a write"),
      planned("exports", "holds when weights in Hugging Face form equal the reference's"),
      planned("dumps", "holds when a dump holds every gradient and traced activation"),
      planned("memory", "holds when what must not be allocated is not"),
  };
}

}  // namespace

std::span<const Check> checks() {
  static const std::vector<Check> table = all_checks();
  return table;
}

const Check* find_check(std::string_view name) {
  const std::span<const Check> table = checks();
  const auto found = std::find_if(
      table.begin(), table.end(), [&](const Check& check) { return check.name == name; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace lockstep::sim
