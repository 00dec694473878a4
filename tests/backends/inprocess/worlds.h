// The ways of running a cluster under which every collective must give the same answers.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/spawn_ranks.h"

namespace lockstep::test {

// Every host, reduction order and completion, with a schedule that is not first come first served
// for some.
std::vector<sim::ClusterOptions> all_options();

// fibers_ring_late, for names of parameterised tests.
std::string option_name_of(const testing::TestParamInfo<sim::ClusterOptions>& options);

// A test under each of all_options().
class EachWorld : public testing::TestWithParam<sim::ClusterOptions> {
 protected:
  // Runs on `tp` ranks, each with the communicator of all, and expects a clean report.
  void spawn(int tp, const std::function<void(TestRank&, Communicator&)>& program);
};

}  // namespace lockstep::test
