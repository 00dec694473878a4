// The collectives check: what the cluster's own matching found.
#include "simulator/checks/collectives.h"

#include "simulator/checks/tally.h"

namespace lockstep::sim {

CheckResult check_collectives(const TrialResult& trial, const MeasuredOracle&) {
  const ClusterReport& report = trial.cluster;
  if (report.num_calls == 0 && report.findings.empty()) {
    return not_applicable("collectives", "no rank made a collective call");
  }
  Tally tally("collectives");
  tally.expect(report.num_calls);
  // A matched call has nothing that could be near: its place is told only where one failed.
  if (tally.counts(0.0, 0.0, report.num_matched)) tally.add({.where = "matched calls"});
  for (const backends::Finding& finding : report.findings) {
    const std::string first_line = finding.message.substr(0, finding.message.find('\n'));
    tally.fail(first_line);
    // A finding counts as an error of 1 against a bound of 0.
    tally.add({.where = first_line, .ranks = finding.ranks, .error = 1.0});
  }
  return std::move(tally).conclude();
}

}  // namespace lockstep::sim
