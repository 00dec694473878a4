// Runs a function on every rank of a small cluster: the form of every distributed test.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm/mesh.h"
#include "core/tensor/tensor.h"
#include "simulator/runtime/cluster.h"
#include "tests/support/tensor_values.h"

namespace lockstep::test {

// What each rank is given; the device is its own.
struct TestRank {
  Rank rank;
  Transport& transport;
  Device& device;
  const Mesh& mesh;

  // A communicator of this rank's group of that kind, which must exist.
  std::unique_ptr<Communicator> connect(GroupKind kind) const;
  // One-dimensional, on this rank's device.
  Tensor tensor(const std::vector<double>& values) const;
  Tensor empty(std::int64_t count, DType dtype = DType::kF64) const;
};

struct LayoutSizes {
  int tp = 1;
  int cp = 1;
  int dp = 1;
  int pp = 1;
};

// A layout of these sizes, 1 in all others.
Layout layout_of(const LayoutSizes& sizes);

sim::ClusterReport spawn_ranks(const Layout& layout,
                               const std::function<void(TestRank&)>& program,
                               const sim::ClusterOptions& options = {});
// tp ranks, no other axis.
sim::ClusterReport spawn_ranks(int tp,
                               const std::function<void(TestRank&)>& program,
                               const sim::ClusterOptions& options = {});

// All messages, a blank line between them: for a failed assertion.
std::string to_text(const sim::ClusterReport& report);

// One call, submitted and waited for under its own label.
void run_call(Communicator& communicator, const CollectiveCall& call);

}  // namespace lockstep::test
