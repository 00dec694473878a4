// The table of parts, and what they share.
#include "tests/backends/conformance/part.h"

#include <fmt/format.h>

#include "core/base/errors.h"

namespace lockstep::test {
namespace {

Part collective(CollectiveKind kind) {
  return {.name = std::string(name_of(kind)),
          .worlds = {1, 2, 3, 4, 5, 6, 7, 8},
          .check = [kind](const TestedBackend& backend, int world) {
            return check_collective(kind, backend, world);
          }};
}

}  // namespace

std::vector<Part> parts() {
  const std::vector<int> all{1, 2, 3, 4, 5, 6, 7, 8};
  return {collective(CollectiveKind::kAllReduce),
          collective(CollectiveKind::kReduceScatter),
          collective(CollectiveKind::kAllGather),
          collective(CollectiveKind::kAllToAll),
          collective(CollectiveKind::kBroadcast),
          {.name = "messages", .worlds = all, .check = check_messages},
          {.name = "in_flight", .worlds = all, .check = check_in_flight},
          {.name = "barrier", .worlds = all, .check = check_barrier},
          {.name = "special_values", .worlds = {1, 2, 3, 5}, .check = check_special_values},
          {.name = "adjoints", .worlds = all, .check = check_adjoints},
          {.name = "arguments", .worlds = {1, 2, 3}, .check = check_arguments},
          {.name = "mismatches", .worlds = {3, 6}, .check = check_mismatches},
          {.name = "endings", .worlds = {2, 3}, .check = check_endings},
          {.name = "unsupported", .worlds = {2}, .check = check_unsupported}};
}

void RankNotes::check(const std::string& complaint) {
  ++num_checks;
  if (!complaint.empty()) complaints.push_back(complaint);
}

PartReport run_part(const TestedBackend& backend,
                    int world,
                    const std::function<void(TestRank&, RankNotes&)>& program) {
  std::vector<RankNotes> notes(static_cast<std::size_t>(world));
  const RunOutcome outcome = backend.run(layout_of_world(world), [&](TestRank& r) {
    program(r, notes[static_cast<std::size_t>(r.rank.value)]);
  });
  PartReport report;
  for (const backends::Finding& finding : outcome.findings) {
    report.complaints.push_back(finding.message);
  }
  for (const RankNotes& each : notes) {
    report.num_calls += each.num_calls;
    report.num_checks += each.num_checks;
    report.complaints.insert(
        report.complaints.end(), each.complaints.begin(), each.complaints.end());
  }
  if (outcome.num_calls != report.num_calls || outcome.num_matched != report.num_calls) {
    report.complaints.push_back(
        fmt::format("{} calls were made, the backend tells {} and {} matched",
                    report.num_calls,
                    outcome.num_calls,
                    outcome.num_matched));
  }
  return report;
}

std::vector<std::unique_ptr<Communicator>> connect_all(const TestRank& rank,
                                                       const std::vector<GroupKind>& kinds) {
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (const GroupKind kind : kinds) {
    const bool has_group = rank.mesh.group_of(kind, rank.rank) != nullptr;
    communicators.push_back(has_group ? rank.connect(kind) : nullptr);
  }
  return communicators;
}

GroupRank rank_in(const Communicator& communicator, Rank rank) {
  const std::optional<GroupRank> me = communicator.group().rank_of(rank);
  LOCKSTEP_CHECK(me.has_value(), "a communicator of a group without its rank");
  return *me;
}

}  // namespace lockstep::test
