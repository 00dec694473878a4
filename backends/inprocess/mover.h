// The port behind which the memory of the ranks lies: an exchange says what goes where and in which
// order, a mover does it, with loops on the host or with kernels on the GPU that all ranks share.
//
// On a GPU each rank's streams run on their own. The rendezvous is defined by moments of the host,
// and a mover keeps that order there: what it does at a moment follows all that the ranks concerned
// have enqueued by then, and comes before whatever they enqueue later. So results depend on the
// order in which ranks ran on the host alone, those of wrong programs too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/cuda/moves.h"
#include "backends/inprocess/reduce.h"
#include "core/tensor/cuda/cuda_device.h"

namespace lockstep::backends {

// One queue of a rank's work.
struct RankStream {
  Rank rank;
  Stream stream;
  bool operator==(const RankStream&) const = default;
};

class StreamMover;

class Mover {
 public:
  Mover() = default;
  virtual ~Mover() = default;
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  // Where staging memory is.
  virtual Device& device() = 0;
  // Null where ranks' memory is the host's: there nothing is ever under way, and an exchange copies
  // by itself, as a small copy costs less than to list it.
  virtual StreamMover* streams() { return nullptr; }

  virtual void reduce(const Reduction& reduction,
                      std::span<const std::byte* const> inputs,
                      std::int64_t first,
                      std::int64_t count,
                      std::span<std::byte* const> outputs) = 0;
  // See poison.h. A moment of its own, for this stream.
  virtual void poison(const RankStream& stream, const Buffer& buffer) = 0;
};

class StreamMover : public Mover {
 public:
  StreamMover* streams() override { return this; }

  // On the rank's own thread, before anything else that names this stream.
  virtual void meet(const RankStream& stream) = 0;
  // What the rank enqueues on `later` from now on follows what is on its stream `earlier`.
  virtual void follow(const RankStream& later, Stream earlier) = 0;

  // Reductions and copies are made in between, one after another: all of it is one moment of the
  // host for these streams. The list outlives it. After begin() without end() a new one may begin.
  virtual void begin(std::span<const RankStream> streams) = 0;
  virtual void end() = 0;
  // None of them has a null end, and none reads what another writes.
  virtual void copy(std::span<const ByteCopy> copies) = 0;
};

std::unique_ptr<Mover> make_host_mover();
// `devices` of all ranks, all on one GPU; they outlive it. UsageError in a build without CUDA.
std::unique_ptr<Mover> make_cuda_mover(std::vector<CudaDevice*> devices);

}  // namespace lockstep::backends
