// Training runs for tests: every rank's results, and their digest.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/train/trainer.h"
#include "simulator/runtime/cluster.h"

namespace lockstep::test {

// Runs `program` with the case's plans on each rank of its layout, in its precision and orders.
sim::ClusterReport on_each_rank(
    const Case& c, const std::function<void(const RankContext&, const Plans&)>& program);

// Results by rank. Whatever the cluster finds fails the test.
std::vector<RankResult> train_ranks(const Case& c);

// Of everything that the ranks report, by its bits.
std::string digest_of(const std::vector<RankResult>& ranks);

}  // namespace lockstep::test
