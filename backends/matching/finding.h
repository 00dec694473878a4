// One diagnostic record about the collectives and ranks of a cluster.
#pragma once

#include <string>
#include <vector>

#include "core/base/ids.h"

namespace lockstep::backends {

enum class FindingKind {
  kRankError,  // a rank's own exception; it outranks the deadlock that it causes
  kMismatch,   // calls that should match differ in group order, kind, dtype, counts, op or label
  kLost,       // a rank's process or thread is gone, and it had not ended
  kStalled,    // a rank neither goes on nor ends
  kDeadlock,   // every rank that is left waits
  kPending,    // a call that was submitted and never completed or never waited for
};

struct Finding {
  FindingKind kind;
  std::string message;      // several lines; ranks with their mesh coordinates, group, labels
  std::vector<Rank> ranks;  // those at fault where known, else those that wait
  std::string label;        // of the call or wait concerned, empty for a rank's error
};

}  // namespace lockstep::backends
