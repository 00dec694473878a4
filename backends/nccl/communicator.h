// One rank of one trial over NCCL: its calls become work on the stream of its transfers.
//
// That stream follows the streams that a call names from where they stood at its submit; a wait
// makes a stream follow it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/coordinator/ordered_transport.h"
#include "backends/nccl/connections.h"
#include "backends/nccl/process.h"
#include "backends/nccl/transport.h"

namespace lockstep::backends {

class StreamScratch;
struct NcclPlan;

class NcclTransport : public OrderedTransport {
 public:
  NcclTransport(CoordinatorClient& client,
                NcclConnections::Impl& connections,
                const NcclTrial& trial);
  ~NcclTransport() override;

  Support supports(const CallType& type) const override { return nccl_support(type); }
  std::unique_ptr<Communicator> connect(Rank rank, const Group& group) override;

 private:
  using Clock = NcclPatience::Clock;

  // A submit that has not been waited for.
  struct Flight {
    std::vector<std::unique_ptr<GpuEvent>> ready;  // where its streams stood; gone once followed
    std::uint64_t last_operation = 0;              // the last one enqueued for it; 0: none
  };
  // What was enqueued at one time and the GPU has not done, for all one knows.
  struct Operation {
    std::unique_ptr<GpuEvent> done;
    std::string what;  // "rank 0: all_reduce 'tp.sum' on tp#0 {0, 1}"
  };

  void carry_out(const DueCalls& due) override;
  void carry_out_own_message(const DueCalls& send, const DueCalls& receive) override;
  void on_submit(const SubmitId& submit, std::span<const CollectiveCall> calls) override;
  void on_wait(const SubmitId& submit, Stream stream, std::string_view label) override;

  // The transfers' stream follows what the submit does.
  Flight& follow(const SubmitId& submit);
  TakeScratch taking_from(StreamScratch& scratch);
  void enqueue(const NcclPlan& plan, const DueCalls& due);
  // Forgets what the GPU has done.
  void retire();
  void hold_back(Stream stream, std::uint64_t operation);
  // Called while the host waits for the GPU.
  void watch();
  std::string oldest() const { return operations_.empty() ? "" : operations_.front().what; }

  NcclConnections::Impl& connections_;
  std::uint64_t trial_;
  const Mesh& mesh_;
  CudaDevice& device_;
  CommunicatorsByKind communicators_;
  std::map<SubmitId, Flight> flights_;
  std::deque<Operation> operations_;
  std::uint64_t num_enqueued_ = 0;  // the number of the last operation
  Clock::time_point last_progress_;
};

}  // namespace lockstep::backends
