// Who was told to go, and who has done so.
#include "backends/coordinator/started_calls.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "backends/matching/channel.h"

namespace lockstep::backends {
StartedCalls::StartedCalls(int num_ranks, const std::vector<int>& processes)
    : parts_(static_cast<std::size_t>(num_ranks)), processes_(processes) {
  if (!processes_.empty()) return;
  processes_.resize(parts_.size());
  std::iota(processes_.begin(), processes_.end(), 0);
}

std::vector<Go> StartedCalls::start(const Meeting& meeting) {
  const auto call = std::make_shared<StartedCall>();
  call->meeting = &meeting;
  std::set<int> processes;
  for (const Party& party : meeting.parties) processes.insert(process_of(party.rank));
  for (const int process : processes) ++num_started_[process];
  std::vector<Go> gos;
  for (std::size_t i = 0; i < meeting.parties.size(); ++i) {
    const Party& party = meeting.parties[i];
    gos.push_back({.communicator = party.member->number,
                   .sequence = party.sequence,
                   .message = meeting.is_message ? party.message : -1,
                   .place = num_started_[process_of(party.rank)]});
    call->undone.push_back(party.rank);
    parts_[static_cast<std::size_t>(party.rank.value)].push_back(
        {.go = gos.back(), .party = i, .call = call});
  }
  return gos;
}

bool StartedCalls::done(Rank rank, const Go& go) {
  std::deque<StartedPart>& parts = parts_[static_cast<std::size_t>(rank.value)];
  const auto part = std::find_if(
      parts.begin(), parts.end(), [&](const StartedPart& its) { return its.go == go; });
  if (part == parts.end()) return false;
  std::vector<Rank>& undone = part->call->undone;
  undone.erase(std::find(undone.begin(), undone.end(), rank));
  parts.erase(part);
  return true;
}

bool StartedCalls::is_undone(Rank rank, int communicator, std::uint64_t sequence) const {
  const std::deque<StartedPart>& parts = undone(rank);
  return std::any_of(parts.begin(), parts.end(), [&](const StartedPart& part) {
    return part.go.communicator == communicator && part.go.sequence == sequence;
  });
}

}  // namespace lockstep::backends
