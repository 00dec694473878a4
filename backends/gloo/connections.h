// Gloo's connections of this process: who the others are, and which sets of them are connected.
//
// A process is known by the trial and the rank in which it first took part, "3.1" (its mark), and
// takes a new mark after a trial that it did not carry out to its end. A set is connected once for
// equal marks: connections outlive trials, and are never shared with another process of a seat.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/gloo/collectives.h"
#include "backends/gloo/transport.h"

namespace gloo::transport {
class Device;
}

namespace lockstep::backends {

struct GlooConnections::Impl {
  Impl(CoordinatorClient& line, const Options& chosen);
  ~Impl();

  // Makes this process known as the order's rank.
  void begin_trial(const TrialOrder& order);
  // Of the members in this order, this rank being one of two or more. The first call for a set
  // blocks until all its members have made it.
  GlooConnection& connection_of(std::span<const Rank> members);
  // Some operation of the trial was not carried out: what is connected cannot be used again.
  void spoil() { spoiled_ = true; }

 private:
  const std::string& mark_of(Rank rank);
  std::unique_ptr<GlooConnection> connect(const std::string& key, std::span<const Rank> members);

  CoordinatorClient& client_;
  Options options_;
  std::shared_ptr<::gloo::transport::Device> device_;
  TrialOrder order_;
  std::string mark_;  // empty before the first trial
  bool spoiled_ = false;
  std::map<Rank, std::string> marks_;                              // of this trial
  std::map<std::vector<Rank>, GlooConnection*> used_;              // in this trial
  std::map<std::string, std::unique_ptr<GlooConnection>> by_key_;  // all
};

}  // namespace lockstep::backends
