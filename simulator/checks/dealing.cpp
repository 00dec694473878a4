// A known dealing is given again where it fits.
#include "simulator/checks/dealing.h"

namespace lockstep::sim {

const Dealing& Dealings::of(std::size_t index, std::span<const RankShard> shards) {
  if (index >= known_.size()) known_.resize(index + 1);
  std::optional<Dealing>& known = known_[index];
  if (!known.has_value() || !fits(*known, shards)) known = deal(shards);
  return *known;
}

}  // namespace lockstep::sim
