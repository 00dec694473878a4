// Moves the data of a meeting: at once, or staged in a copy and delivered to one member at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/matching/meeting.h"
#include "core/config/case.h"

namespace lockstep::backends {

class Exchange {
 public:
  Exchange(ReductionOrder order, std::uint64_t seed) : order_(order), seed_(seed) {}

  // Fills outputs that are not also the input with NaN, integers with a huge negative.
  static void poison_outputs(const std::vector<CollectiveCall>& calls);

  // Reads all inputs and writes all outputs. With the meeting's number `stream` names the
  // order of a shuffled sum.
  void run(Meeting& meeting, std::uint64_t stream);
  // Reads all inputs.
  void stage(Meeting& meeting, std::uint64_t stream);
  // Writes the outputs of one party of a staged meeting.
  void deliver(const Meeting& meeting, std::size_t party) const;

 private:
  void reduce_call(const Meeting& meeting, std::size_t call, std::byte* staging);
  void reduce_range(const CollectiveCall& call, std::int64_t first, std::int64_t count);
  void order_inputs(std::size_t first);
  void shuffle(std::size_t size, std::uint64_t stream, std::uint64_t number);

  ReductionOrder order_;
  std::uint64_t seed_;
  // Kept between calls so that none of them allocates.
  std::vector<const std::byte*> inputs_;
  std::vector<const std::byte*> ordered_;
  std::vector<std::byte*> outputs_;
  std::vector<std::byte*> targets_;
  std::vector<std::size_t> permutation_;
};

}  // namespace lockstep::backends
