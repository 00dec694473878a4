// The ways of running a cluster under which every collective must give the same answers.
#pragma once

#include <string>
#include <vector>

#include "simulator/runtime/cluster.h"

namespace lockstep::test {

// Every host, reduction order and completion, with a schedule that is not first come first served
// for some.
std::vector<sim::ClusterOptions> all_options();

// Fibers_ring_late, for names of parameterised tests.
std::string option_name(const sim::ClusterOptions& options);

}  // namespace lockstep::test
