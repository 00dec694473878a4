// A case on one rank: buffers filled and submitted, later held against what must be in them.
#pragma once

#include <string>
#include <vector>

#include "core/tensor/tensor.h"
#include "tests/backends/conformance/elements.h"
#include "tests/backends/conformance/expected.h"
#include "tests/support/spawn_ranks.h"

namespace lockstep::test {

class PreparedCall {
 public:
  PreparedCall(const TestRank& rank, const CallCase& call, const Seat& seat);

  // The call to submit; refers to this, which must outlive the ticket.
  CollectiveCall call() const;
  // Once it has been waited for: all elements of the storages, those around the buffers too, as
  // bits. One sentence about the first that is wrong; empty where all are right.
  std::string complaint() const;

 private:
  struct Side {
    Tensor tensor;
    std::vector<std::int64_t> expected;  // units of the whole storage
  };

  void place(const TestRank& rank);
  void fill(Side& side, std::int64_t num_elements, const TestRank& rank) const;
  Side& output_side() { return sides_.back(); }

  Device* device_;
  CallCase case_;
  GroupRank peer_;
  std::int64_t own_part_;
  std::vector<std::int64_t> input_;
  std::vector<std::int64_t> output_;
  std::vector<std::int64_t> input_splits_;
  std::vector<std::int64_t> output_splits_;
  std::int64_t input_offset_ = 0;
  std::int64_t output_offset_ = 0;
  std::vector<Side> sides_;  // the input's and the output's, or the one of both
  std::string where_;        // rank and group, for a complaint
};

// Submits the calls in one submit and waits. Complaints of all of them.
std::vector<std::string> run_prepared(Communicator& communicator,
                                      const std::vector<PreparedCall>& prepared);

}  // namespace lockstep::test
