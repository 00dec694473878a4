// In a build without CUDA: the same functions, which say so.
#include "backends/cuda/moves.h"
#include "core/base/errors.h"
#include "core/tensor/cuda/gpu.h"

namespace lockstep::backends {
namespace {

[[noreturn]] void refuse() { throw UsageError(why_no_cuda()); }

}  // namespace

void reduce_on_gpu(const GpuReduction&,
                   std::span<const std::byte* const>,
                   std::int64_t,
                   std::int64_t,
                   std::span<std::byte* const>,
                   void*) {
  refuse();
}
void copy_on_gpu(std::span<const ByteCopy>, void*) { refuse(); }
void fill_on_gpu(const Buffer&, std::uint64_t, const FillPattern&, void*) { refuse(); }
void copy_and_wait(std::byte*, const std::byte*, std::int64_t, void*) { refuse(); }

}  // namespace lockstep::backends
