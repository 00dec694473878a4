// The communicator port: every collective and message of a rank is one submit on its group.
//
// Calls of one submit form one group (NCCL's grouped sends): none may wait for another. Calls of a
// group match by order; their signature (kind, dtype, counts, op, root, label) must agree.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/comm/group.h"
#include "core/tensor/device.h"

namespace lockstep {

enum class CollectiveKind {
  kAllReduce,      // output = op over ranks of input
  kReduceScatter,  // output = this rank's part of the op over ranks of input
  kAllGather,      // output = inputs in rank order
  kAllToAll,       // part j of input goes to rank j; output = parts received, in rank order
  kBroadcast,      // output = input of rank `peer`
  kSend,           // input to rank `peer`
  kRecv,           // output from rank `peer`
  kBarrier,
};

enum class ReduceOp { kSum, kMax };  // NaN wins a maximum

std::string_view name_of(CollectiveKind kind);  // all_reduce, reduce_scatter ...
std::string_view name_of(ReduceOp op);

struct CollectiveCall {
  // "area.entry[.parameter]". Outlives the ticket; whoever keeps it longer copies it.
  std::string_view label = {};
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Buffer input = {};  // may be the output: in place
  Buffer output = {};
  ReduceOp op = ReduceOp::kSum;
  GroupRank peer = {};   // root of a broadcast, other end of a message
  std::int64_t tag = 0;  // of a message: must be equal at both ends
  // Elements per rank, empty for equal parts: of the input (all_to_all, reduce_scatter) and of the
  // output (all_to_all, all_gather). They must outlive the call's ticket.
  std::span<const std::int64_t> input_splits = {};
  std::span<const std::int64_t> output_splits = {};
  Stream stream = {};  // the stream whose earlier work the call follows
};

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual const Group& group() const = 0;
  // Starts the calls. Buffers stay in use until the ticket has been waited for; only then are the
  // outputs defined. InternalError for a call that call_rules.h or supports() refuses: then none of
  // them is made, and the communicator can be used on.
  virtual Ticket submit(std::span<const CollectiveCall> calls) = 0;
};

// How a backend does a kind of call on elements of a dtype.
enum class SupportKind {
  kNative,  // its library has it
  kBuilt,   // built from what its library has
  kNone,    // not at all: such a call is refused
};
struct Support {
  SupportKind kind = SupportKind::kNative;
  std::string_view how = {};  // of kBuilt: from what; of kNone: why not. Static text.
};

// What a call is, apart from its sizes and members. A barrier has neither dtype nor op, and only
// reductions have an op.
struct CallType {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  DType dtype = DType::kF64;
  ReduceOp op = ReduceOp::kSum;
};

// What a backend provides: a communicator of one rank for one group. Called on every member, for
// the same groups in the same order.
class Transport {
 public:
  virtual ~Transport() = default;
  // May be asked before anything is connected.
  virtual Support supports(const CallType& type) const = 0;
  virtual std::unique_ptr<Communicator> connect(Rank rank, const Group& group) = 0;
};

}  // namespace lockstep
