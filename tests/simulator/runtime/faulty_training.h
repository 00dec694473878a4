// The real training program with one rank's calls disturbed, for tests of the report that follows.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/config/case.h"
#include "simulator/runtime/cluster.h"

namespace lockstep::test {

// The communicators of one rank, by the kind of their group.
using CommunicatorsOfRank = std::map<GroupKind, Communicator*>;

// What a rank does instead of one of its submits.
using Disturbance = std::function<Ticket(
    Communicator& own, std::span<const CollectiveCall> calls, const CommunicatorsOfRank& all)>;

struct TrainingFault {
  int rank = 0;
  std::string label;   // of the first call of the submit
  int occurrence = 0;  // which of the rank's submits under that label, from 0; -1 for each
  Disturbance instead;
};

// Passes everything on but what the faults of this rank say. `inner` and `faults` outlive it.
std::unique_ptr<Transport> faulty_transport(Transport& inner,
                                            Rank rank,
                                            const std::vector<TrainingFault>& faults);

// Trains the case. Faults of one rank and label are tried in their order.
sim::ClusterReport train_with_faults(const Case& c,
                                     const std::vector<TrainingFault>& faults,
                                     const sim::ClusterOptions& options = {});

// Disturbances.
Disturbance skip();
Disturbance change(const std::function<void(CollectiveCall&)>& edit);
Disturbance send_to_group(GroupKind kind);
Disturbance repeat();  // submits and waits once more
Disturbance throw_instead(const std::function<void()>& thrower);

}  // namespace lockstep::test
