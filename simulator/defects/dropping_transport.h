// A transport that loses the calls a defect names: they never reach the backend, on any rank.
#pragma once

#include <span>
#include <string>

#include "core/comm/communicator.h"

namespace lockstep::sim {

class DroppingTransport : public Transport {
 public:
  // Both outlive the transport and its communicators.
  DroppingTransport(Transport& inner, std::span<const std::string> dropped_labels)
      : inner_(inner), dropped_labels_(dropped_labels) {}

  Support supports(const CallType& type) const override { return inner_.supports(type); }
  std::unique_ptr<Communicator> connect(Rank rank, const Group& group) override;

 private:
  Transport& inner_;
  std::span<const std::string> dropped_labels_;
};

}  // namespace lockstep::sim
