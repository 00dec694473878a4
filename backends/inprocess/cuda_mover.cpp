// Kernels on a stream of the mover's own, which takes its turn with those of the ranks.
#include <utility>

#include "backends/inprocess/mover.h"
#include "backends/inprocess/poison.h"
#include "core/base/errors.h"
#include "core/tensor/cuda/event.h"

namespace lockstep::backends {
namespace {

class CudaMover : public StreamMover {
 public:
  explicit CudaMover(std::vector<CudaDevice*> devices)
      : devices_(std::move(devices)),
        native_(devices_.size()),
        gpu_(devices_.front()->gpu()),
        device_(gpu_) {
    gpu_.enter();
    own_ = device_.native_stream({});
    event_ = std::make_unique<GpuEvent>();
  }

  // Staging memory is written and read on the mover's own stream alone.
  Device& device() override { return device_; }

  // Another rank's thread must not ask a device for its stream.
  void meet(const RankStream& stream) override {
    std::vector<void*>& known = native_[static_cast<std::size_t>(stream.rank.value)];
    const auto index = static_cast<std::size_t>(stream.stream.value);
    if (index >= known.size()) known.resize(index + 1);
    if (known[index] != nullptr) return;
    gpu_.enter();
    known[index] =
        devices_[static_cast<std::size_t>(stream.rank.value)]->native_stream(stream.stream);
  }

  void follow(const RankStream& later, Stream earlier) override {
    if (later.stream == earlier) return;
    gpu_.enter();
    event_->record(native({.rank = later.rank, .stream = earlier}));
    event_->hold_back(native(later));
  }

  // One event does for all: who waits for it already keeps the point that it was then.
  void begin(std::span<const RankStream> streams) override {
    gpu_.enter();
    streams_ = streams;
    for (const RankStream& stream : streams) {
      event_->record(native(stream));
      event_->hold_back(own_);
    }
  }

  void end() override {
    event_->record(own_);
    for (const RankStream& stream : streams_) event_->hold_back(native(stream));
  }

  void copy(std::span<const ByteCopy> copies) override { copy_on_gpu(copies, own_); }

  void reduce(const Reduction& reduction,
              std::span<const std::byte* const> inputs,
              std::int64_t first,
              std::int64_t count,
              std::span<std::byte* const> outputs) override {
    reduce_on_gpu({.dtype = reduction.dtype, .op = reduction.op, .tree = reduction.tree},
                  inputs,
                  first,
                  count,
                  outputs,
                  own_);
  }

  void poison(const RankStream& stream, const Buffer& buffer) override {
    gpu_.enter();
    fill_on_gpu(buffer, poison_bits(buffer.dtype), poison_pattern(buffer), native(stream));
  }

 private:
  void* native(const RankStream& stream) const {
    const std::vector<void*>& known = native_[static_cast<std::size_t>(stream.rank.value)];
    const auto index = static_cast<std::size_t>(stream.stream.value);
    LOCKSTEP_CHECK(index < known.size() && known[index] != nullptr,
                   "a stream takes part in an exchange that its rank has not shown");
    return known[index];
  }

  std::vector<CudaDevice*> devices_;        // by rank
  std::vector<std::vector<void*>> native_;  // by rank and stream, of those met
  Gpu& gpu_;
  CudaDevice device_;
  void* own_ = nullptr;
  std::unique_ptr<GpuEvent> event_;
  std::span<const RankStream> streams_;
};

}  // namespace

std::unique_ptr<Mover> make_cuda_mover(std::vector<CudaDevice*> devices) {
  LOCKSTEP_CHECK(!devices.empty(), "a GPU's ranks without devices");
  return std::make_unique<CudaMover>(std::move(devices));
}

}  // namespace lockstep::backends
