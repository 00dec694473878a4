// Dropping calls by the beginning of their labels.
#include "simulator/defects/dropping_transport.h"

#include <algorithm>
#include <vector>

namespace lockstep::sim {
namespace {

class DroppingCommunicator : public Communicator {
 public:
  DroppingCommunicator(std::unique_ptr<Communicator> inner, std::span<const std::string> labels)
      : inner_(std::move(inner)), labels_(labels) {}

  const Group& group() const override { return inner_->group(); }

  Ticket submit(std::span<const CollectiveCall> calls) override {
    if (std::none_of(calls.begin(), calls.end(), [&](const auto& call) { return drops(call); })) {
      return inner_->submit(calls);
    }
    std::vector<CollectiveCall> kept;
    for (const CollectiveCall& call : calls) {
      if (!drops(call)) kept.push_back(call);
    }
    return kept.empty() ? Ticket{} : inner_->submit(kept);
  }

 private:
  bool drops(const CollectiveCall& call) const {
    return std::any_of(labels_.begin(), labels_.end(), [&](const std::string& label) {
      return call.label.starts_with(label);
    });
  }

  std::unique_ptr<Communicator> inner_;
  std::span<const std::string> labels_;
};

}  // namespace

std::unique_ptr<Communicator> DroppingTransport::connect(Rank rank, const Group& group) {
  return std::make_unique<DroppingCommunicator>(inner_.connect(rank, group), dropped_labels_);
}

}  // namespace lockstep::sim
