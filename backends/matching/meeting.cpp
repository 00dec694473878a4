// The copies that a party makes of what its caller may take back.
#include "backends/matching/meeting.h"

#include <span>

namespace lockstep::backends {
namespace {

void keep_labels(Party& party) {
  if (party.labels.size() < party.calls.size()) party.labels.resize(party.calls.size());
  for (std::size_t i = 0; i < party.calls.size(); ++i) {
    party.labels[i].assign(party.calls[i].label);
    party.calls[i].label = party.labels[i];
  }
}

void keep_splits(Party& party) {
  std::size_t size = 0;
  for (const CollectiveCall& call : party.calls) {
    size += call.input_splits.size() + call.output_splits.size();
  }
  if (size == 0) return;
  party.splits.clear();
  party.splits.reserve(size);  // spans into it stay valid
  for (CollectiveCall& call : party.calls) {
    for (std::span<const std::int64_t>* splits : {&call.input_splits, &call.output_splits}) {
      const std::size_t first = party.splits.size();
      party.splits.insert(party.splits.end(), splits->begin(), splits->end());
      *splits = {party.splits.data() + first, splits->size()};
    }
  }
}

}  // namespace

void keep_copies(Party& party) {
  keep_labels(party);
  keep_splits(party);
}

}  // namespace lockstep::backends
