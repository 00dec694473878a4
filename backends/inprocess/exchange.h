// Which elements of whose input make which elements of whose output, and in which order they are
// summed: at once, or staged in a copy and delivered to one member at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/inprocess/mover.h"
#include "backends/matching/meeting.h"
#include "core/config/case.h"

namespace lockstep::backends {

class Exchange {
 public:
  // The mover must outlive it.
  Exchange(ReductionOrder order, std::uint64_t seed, Mover& mover)
      : order_(order), seed_(seed), mover_(mover), streams_(mover.streams()) {}

  // On the rank's own thread: it submits these calls.
  void meet(Rank rank, std::span<const CollectiveCall> calls) {
    if (streams_ != nullptr) meet_streams(rank, calls);
  }
  // Fills a party's outputs that are not also the input with NaN, integers with a huge negative.
  void poison_outputs(const Party& party);

  // Reads all inputs and writes all outputs. With the meeting's number `order_stream` names the
  // order of a shuffled sum.
  void run(Meeting& meeting, std::uint64_t order_stream);
  // Reads all inputs.
  void stage(Meeting& meeting, std::uint64_t order_stream);
  // On the party's own thread, which waits on this stream: writes its outputs of a staged meeting.
  void deliver(const Meeting& meeting, std::size_t party, Stream waiting);
  // The same of a meeting that has been run: what comes on this stream follows it.
  void follow(const Meeting& meeting, std::size_t party, Stream waiting) {
    if (streams_ != nullptr) follow_streams(meeting.parties[party], waiting);
  }

 private:
  void meet_streams(Rank rank, std::span<const CollectiveCall> calls);
  void follow_streams(const Party& party, Stream waiting);
  void begin(std::span<const Party> parties, const RankStream* waiting);
  void end();

  void exchange(const Meeting& meeting, std::uint64_t order_stream);
  void fill_staging(Meeting& meeting, std::uint64_t order_stream);
  void read_staging(const Meeting& meeting, std::size_t party);
  void copy_parts(const Meeting& meeting, std::size_t call, std::size_t to);
  void add_copy(std::byte* to, const std::byte* from, std::int64_t num_bytes);
  void make_copies();
  void reduce_call(const Meeting& meeting, std::size_t call, std::byte* staging);
  void reduce_range(const CollectiveCall& call, std::int64_t first, std::int64_t count);
  void order_inputs(std::size_t first);
  void shuffle(std::size_t size, std::uint64_t order_stream, std::uint64_t number);

  ReductionOrder order_;
  std::uint64_t seed_;
  Mover& mover_;
  StreamMover* streams_;  // the mover, null where it has none
  // Kept between calls so that none of them allocates.
  std::vector<RankStream> concerned_;
  std::vector<ByteCopy> copies_;
  std::vector<const std::byte*> inputs_;
  std::vector<const std::byte*> ordered_;
  std::vector<std::byte*> outputs_;
  std::vector<std::byte*> targets_;
  std::vector<std::size_t> permutation_;
};

}  // namespace lockstep::backends
