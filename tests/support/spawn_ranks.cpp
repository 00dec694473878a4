// The cluster that distributed tests run on.
#include "tests/support/spawn_ranks.h"

#include "core/base/errors.h"
#include "tests/support/device_memory.h"

namespace lockstep::test {

std::unique_ptr<Communicator> TestRank::connect(GroupKind kind) const {
  const Group* group = mesh.group_of(kind, rank);
  LOCKSTEP_CHECK(group != nullptr, "the rank is in no group of this kind");
  return transport.connect(rank, *group);
}

Tensor TestRank::tensor(const std::vector<double>& values) const {
  Tensor result = empty(static_cast<std::int64_t>(values.size()));
  put_bytes(device, result.buffer(), std::as_bytes(std::span(values)));
  return result;
}

Tensor TestRank::empty(std::int64_t count, DType dtype) const {
  return allocate_tensor(device, dtype, {count}, "test.tensor");
}

Layout layout_of(const LayoutSizes& sizes) {
  Layout layout{};
  layout.tp = sizes.tp;
  layout.cp = sizes.cp;
  layout.dp = sizes.dp;
  layout.pp = sizes.pp;
  layout.vpp = layout.ep = layout.etp = 1;
  return layout;
}

sim::ClusterReport spawn_ranks(const Layout& layout,
                               const std::function<void(TestRank&)>& program,
                               const sim::ClusterOptions& options) {
  const Mesh mesh(layout);
  return sim::run_cluster(mesh, options, [&](sim::RankSeat& seat) {
    TestRank rank{
        .rank = seat.rank, .transport = seat.transport, .device = seat.device, .mesh = mesh};
    program(rank);
  });
}

sim::ClusterReport spawn_ranks(int tp,
                               const std::function<void(TestRank&)>& program,
                               const sim::ClusterOptions& options) {
  return spawn_ranks(layout_of({.tp = tp}), program, options);
}

std::string to_text(const sim::ClusterReport& report) {
  std::string text;
  for (const backends::Finding& finding : report.findings) text += finding.message + "\n\n";
  return text;
}

void run_call(Communicator& communicator, const CollectiveCall& call) {
  const Ticket ticket = communicator.submit({&call, 1});
  ticket.source->wait(ticket.sequence, call.stream, call.label);
}

}  // namespace lockstep::test
