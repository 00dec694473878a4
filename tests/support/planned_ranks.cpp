// A transport that plans as the NCCL backend does, over loops in place of NCCL.
#include "tests/support/planned_ranks.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "backends/coordinator/ordered_transport.h"
#include "backends/nccl/plan.h"
#include "core/base/errors.h"
#include "core/comm/call_rules.h"
#include "core/tensor/cpu_device.h"
#include "tests/support/loop_nccl.h"

namespace lockstep::test {
namespace {

using backends::DueCalls;
using backends::NcclPlan;

class PlannedTransport : public backends::OrderedTransport {
 public:
  PlannedTransport(backends::CoordinatorClient& line, LoopNccl& nccl, Rank me)
      : OrderedTransport(line, me, "a plan"), nccl_(nccl) {}

  Support supports(const CallType& type) const override { return backends::planned_support(type); }

 private:
  void carry_out(const DueCalls& due) override {
    const std::vector<Rank>& ranks = due.member.group.ranks;
    const backends::GroupSeat seat{.me = due.member.me.value, .size = due.member.group.size()};
    NcclPlan plan;
    for (const CollectiveCall* call : due.calls) {
      backends::plan_call(
          *call, seat, [this](std::int64_t size) { return take(size); }, plan);
    }
    if (!is_message(due.calls.front()->kind)) {
      LoopMeeting all;
      for (const Rank member : ranks) all.ranks.push_back(member.value);
      return run(plan, seat.size == 1 ? nullptr : &all, seat.me);
    }
    const int peer = due.calls.front()->peer.value;
    LoopMeeting ends{.ranks = {rank().value, ranks[static_cast<std::size_t>(peer)].value},
                     .is_message = true};
    std::sort(ends.ranks.begin(), ends.ranks.end());
    const int me = ends.ranks.front() == rank().value ? 0 : 1;
    for (backends::NcclOperation& its : plan.operations) its.peer = 1 - me;
    run(plan, plan.operations.empty() ? nullptr : &ends, me);
  }

  void carry_out_own_message(const DueCalls& send, const DueCalls& receive) override {
    NcclPlan plan;
    backends::plan_own_message(
        *send.calls.front(),
        *receive.calls.front(),
        [this](std::int64_t size) { return take(size); },
        plan);
    run(plan, nullptr, 0);
  }

  std::byte* take(std::int64_t num_bytes) {
    scratch_.push_back(std::make_unique<std::vector<std::byte>>(static_cast<std::size_t>(num_bytes),
                                                                std::byte{0xff}));
    return scratch_.back()->data();
  }

  void run(const NcclPlan& plan, const LoopMeeting* meeting, int me) {
    for (const backends::ByteCopy& copy : plan.copies) {
      LOCKSTEP_CHECK(copy.to + copy.num_bytes <= copy.from || copy.from + copy.num_bytes <= copy.to,
                     "a copy's ends overlap");
      std::memcpy(copy.to, copy.from, static_cast<std::size_t>(copy.num_bytes));
    }
    if (meeting != nullptr) {
      nccl_.run(*meeting, me, plan.operations, [this] {
        if (client().is_trial_over()) throw RankCancelled{};
      });
    }
    for (const backends::PlannedReduction& its : plan.reductions) {
      std::vector<std::byte> result(
          static_cast<std::size_t>(its.count * element_bytes(its.how.dtype)));
      reduce_by_loops(its.how.dtype, its.how.op, its.inputs, its.count, result.data());
      std::memcpy(its.output, result.data(), result.size());
    }
    scratch_.clear();
  }

  LoopNccl& nccl_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> scratch_;
};

}  // namespace

backends::TrialOutcome run_planned_ranks(const Layout& layout,
                                         const std::function<void(TestRank&)>& program) {
  const Mesh mesh(layout);
  LoopNccl nccl;
  const MakeServer make_server = [&](backends::CoordinatorClient& client, int) -> ServeOrder {
    return [&](const backends::TrialOrder& order) {
      PlannedTransport transport(client, nccl, order.rank);
      CpuDevice device;
      TestRank rank{.rank = order.rank, .transport = transport, .device = device, .mesh = mesh};
      program(rank);
    };
  };
  return run_coordinated_ranks(mesh, make_server, {});
}

}  // namespace lockstep::test
