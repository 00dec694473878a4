// A ledger that a test drives by hand: calls of ranks that do not exist, without data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/matching/ledger.h"
#include "core/comm/mesh.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {

// Calls of 8 float64 elements unless said otherwise.
CollectiveCall all_reduce(std::string_view label, std::int64_t count = 8);
CollectiveCall send_to(int peer, std::string_view label);
CollectiveCall recv_from(int peer, std::string_view label);

struct Books {
  explicit Books(const LayoutSizes& sizes) : mesh(layout_of(sizes)), ledger(mesh) {}

  // Its one communicator for a group of that kind; connects at first use.
  backends::Member& of(int rank, GroupKind kind = GroupKind::kTp);
  backends::Arrival submit(backends::Member& me, const CollectiveCall& call);
  // Submits and waits under the call's label, as a blocking call does; true where it need not
  // block.
  bool call(backends::Member& me, const CollectiveCall& call);
  // Of its last submit, all members of which have come.
  void finish_last_wait(backends::Member& me);
  // All members of a tp group make the call and wait for it.
  void call_on_tp(const std::vector<int>& ranks, std::string_view label);
  // Each of them waits for tp's all_reduce under that label, and has everything to go on.
  void start_on_tp(const std::vector<int>& ranks, std::string_view label);

  Mesh mesh;
  backends::Ledger ledger;

 private:
  std::vector<std::pair<std::pair<int, GroupKind>, backends::Member*>> members_;
};

std::string to_text(const std::vector<backends::Finding>& findings);

}  // namespace lockstep::test
