// A transport of one rank that looks each submit up among the faults.
#include "tests/simulator/runtime/faulty_training.h"

#include <memory>
#include <utility>

#include "core/ops/cpu/kernels.h"
#include "core/train/trainer.h"

namespace lockstep::test {
namespace {

class FaultyTransport : public Transport {
 public:
  FaultyTransport(Transport& inner, Rank rank, const std::vector<TrainingFault>& faults)
      : inner_(inner), rank_(rank), faults_(faults) {}

  Support supports(const CallType& type) const override { return inner_.supports(type); }
  std::unique_ptr<Communicator> connect(Rank rank, const Group& group) override;

  Ticket submit(Communicator& own, std::span<const CollectiveCall> calls) {
    const std::string label(calls.front().label);
    const int occurrence = num_submits_[label]++;
    for (const TrainingFault& fault : faults_) {
      if (fault.rank != rank_.value || fault.label != label) continue;
      if (fault.occurrence >= 0 && fault.occurrence != occurrence) continue;
      return fault.instead(own, calls, all_);
    }
    return own.submit(calls);
  }

 private:
  Transport& inner_;
  Rank rank_;
  const std::vector<TrainingFault>& faults_;
  std::map<std::string, int> num_submits_;
  CommunicatorsOfRank all_;
};

class FaultyCommunicator : public Communicator {
 public:
  FaultyCommunicator(std::unique_ptr<Communicator> inner, FaultyTransport& transport)
      : inner_(std::move(inner)), transport_(transport) {}

  const Group& group() const override { return inner_->group(); }
  Ticket submit(std::span<const CollectiveCall> calls) override {
    return transport_.submit(*inner_, calls);
  }

 private:
  std::unique_ptr<Communicator> inner_;
  FaultyTransport& transport_;
};

std::unique_ptr<Communicator> FaultyTransport::connect(Rank rank, const Group& group) {
  std::unique_ptr<Communicator> inner = inner_.connect(rank, group);
  all_[group.kind] = inner.get();
  return std::make_unique<FaultyCommunicator>(std::move(inner), *this);
}

}  // namespace

std::unique_ptr<Transport> faulty_transport(Transport& inner,
                                            Rank rank,
                                            const std::vector<TrainingFault>& faults) {
  return std::make_unique<FaultyTransport>(inner, rank, faults);
}

sim::ClusterReport train_with_faults(const Case& c,
                                     const std::vector<TrainingFault>& faults,
                                     const sim::ClusterOptions& options) {
  const Mesh mesh(c.layout);
  const Plans plans = make_plans(c);
  const KernelTable kernels = cpu_kernels();
  return sim::run_cluster(mesh, options, [&](sim::RankSeat& seat) {
    FaultyTransport transport(seat.transport, seat.rank, faults);
    const Communicators communicators(transport, mesh, seat.rank);
    const RankContext context{
        .rank = seat.rank,
        .mesh = mesh,
        .ops = {.device = seat.device, .kernels = kernels, .dtype = DType::kF64},
        .communicators = communicators,
        .mappings = plans.mappings};
    RankResult result;
    train(context, c, plans, result);
  });
}

Disturbance skip() {
  return [](Communicator&, std::span<const CollectiveCall>, const CommunicatorsOfRank&) {
    return Ticket{};
  };
}

Disturbance change(const std::function<void(CollectiveCall&)>& edit) {
  return
      [edit](Communicator& own, std::span<const CollectiveCall> calls, const CommunicatorsOfRank&) {
        CollectiveCall changed = calls.front();
        edit(changed);
        return own.submit({&changed, 1});
      };
}

Disturbance send_to_group(GroupKind kind) {
  return
      [kind](Communicator&, std::span<const CollectiveCall> calls, const CommunicatorsOfRank& all) {
        return all.at(kind)->submit(calls);
      };
}

Disturbance repeat() {
  return [](Communicator& own, std::span<const CollectiveCall> calls, const CommunicatorsOfRank&) {
    const Ticket first = own.submit(calls);
    first.source->wait(first.sequence, {}, calls.front().label);
    return own.submit(calls);
  };
}

Disturbance throw_instead(const std::function<void()>& thrower) {
  return [thrower](
             Communicator&, std::span<const CollectiveCall>, const CommunicatorsOfRank&) -> Ticket {
    thrower();
    return {};
  };
}

}  // namespace lockstep::test
