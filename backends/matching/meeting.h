// Members of a group that meet for the calls of one submit, or sender and receiver of one message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/comm/communicator.h"
#include "core/tensor/storage.h"

namespace lockstep::backends {

struct Member;

struct Party {
  Rank rank;
  bool arrived = false;
  bool waits = false;      // blocked in the wait for this meeting's submit
  bool delivered = false;  // has waited: its outputs are defined
  // Of one that has arrived: whose submit, which of the member's, and which call of it a message
  // is.
  const Member* member = nullptr;
  std::uint64_t sequence = 0;
  int message = -1;  // -1: all its collectives
  std::vector<CollectiveCall> calls;
  // What the calls' labels and splits point to. Labels of an earlier submit are overwritten.
  std::vector<std::string> labels;
  std::vector<std::int64_t> splits;
};

// Copies the labels and splits of the party's calls: others read them after this rank's own wait,
// and reports after its end.
void keep_copies(Party& party);

enum class MeetingState {
  kOpen,        // some have not arrived
  kMatched,     // all have and agree
  kMismatched,  // two that have arrived do not agree: it never completes
  kAbandoned,   // a rank ended without waiting, its buffers gone: it never completes
};

struct Meeting {
  const Group* group = nullptr;
  std::uint64_t number = 0;    // from 1: which of the group's submits, or of the pair's messages
  bool is_message = false;     // parties are then sender and receiver
  std::vector<Party> parties;  // else by group rank
  int num_arrived = 0;
  int num_delivered = 0;
  int first = 0;  // the party that arrived first: the others are held against it
  MeetingState state = MeetingState::kOpen;
  // Of backends that move data themselves.
  bool late = false;                          // nothing is read or written before a wait
  bool staged = false;                        // results, or copies of the inputs, are in `staging`
  std::unique_ptr<Storage> staging;           // on the mover's device; kept for the next use
  std::vector<std::int64_t> staging_offsets;  // bytes; by call, and by party where inputs are kept
};

// A call of a message is the only one of its party; others may have several.
inline const CollectiveCall& call_of(const Meeting& meeting, std::size_t party, std::size_t call) {
  return meeting.parties[party].calls[call];
}

}  // namespace lockstep::backends
