// The copies that a party makes of what its caller may take back.
#include "backends/inprocess/meeting.h"

#include <span>

namespace lockstep::backends {

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

}  // namespace lockstep::backends
