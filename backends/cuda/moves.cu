// Copies as wide as their ends allow, a row of blocks each; filling by a pattern.
#include <string>

#include "backends/cuda/launch.cuh"
#include "backends/cuda/moves.h"
#include "core/base/errors.h"
#include "core/tensor/cuda/gpu.h"

namespace lockstep::backends {
namespace {

// As many as fit into a kernel's parameters with room to spare.
constexpr std::size_t kMaxCopies = 1024;

template <std::size_t kCapacity>
struct CopyList {
  ByteCopy copies[kCapacity];
};

// By this row's threads, words first and then what is left of less than one.
template <typename Word>
__device__ void copy_by(const ByteCopy& copy) {
  const std::int64_t num_words = copy.num_bytes / static_cast<std::int64_t>(sizeof(Word));
  const auto* const from = reinterpret_cast<const Word*>(copy.from);
  auto* const to = reinterpret_cast<Word*>(copy.to);
  for (std::int64_t i = gpu::first_index(); i < num_words; i += gpu::num_threads()) to[i] = from[i];
  const std::int64_t rest = num_words * static_cast<std::int64_t>(sizeof(Word));
  const std::int64_t at = rest + gpu::first_index();
  if (at < copy.num_bytes) copy.to[at] = copy.from[at];
}

template <std::size_t kCapacity>
__global__ void copy_kernel(const __grid_constant__ CopyList<kCapacity> list) {
  const ByteCopy& copy = list.copies[blockIdx.y];
  if (copy.to == nullptr || copy.from == nullptr || copy.to == copy.from) return;
  const std::uintptr_t ends =
      reinterpret_cast<std::uintptr_t>(copy.to) | reinterpret_cast<std::uintptr_t>(copy.from);
  if (ends % sizeof(uint4) == 0) return copy_by<uint4>(copy);
  if (ends % sizeof(std::uint64_t) == 0) return copy_by<std::uint64_t>(copy);
  if (ends % sizeof(std::uint32_t) == 0) return copy_by<std::uint32_t>(copy);
  if (ends % sizeof(std::uint16_t) == 0) return copy_by<std::uint16_t>(copy);
  copy_by<std::byte>(copy);
}

void launch_copies(std::span<const ByteCopy> copies, cudaStream_t stream) {
  constexpr std::int64_t kMaxRowBlocks = 256;
  std::int64_t most_bytes = 0;
  for (const ByteCopy& copy : copies) most_bytes = std::max(most_bytes, copy.num_bytes);
  const std::int64_t words = most_bytes / static_cast<std::int64_t>(sizeof(uint4)) + 1;
  const std::int64_t row = std::min<std::int64_t>(kMaxRowBlocks, gpu::blocks_for(words));
  const dim3 grid(static_cast<unsigned>(row), static_cast<unsigned>(copies.size()));
  gpu::with_capacity<kMaxCopies>(copies.size(),
                                 [&]<std::size_t kCapacity>(std::index_sequence<kCapacity>) {
                                   CopyList<kCapacity> list{};
                                   std::copy(copies.begin(), copies.end(), list.copies);
                                   copy_kernel<kCapacity><<<grid, gpu::kThreads, 0, stream>>>(list);
                                 });
  check_cuda(cudaGetLastError(), "starting copies on the GPU");
}

template <typename Word>
__global__ void fill_kernel(Word* elements, std::int64_t count, Word value, FillPattern pattern) {
  for (std::int64_t i = gpu::first_index(); i < count; i += gpu::num_threads()) {
    const bool is_filled =
        i < pattern.whole || (i - pattern.whole) % pattern.stride < pattern.run || i == count - 1;
    if (is_filled) elements[i] = value;
  }
}

template <typename Word>
void fill_words(const Buffer& buffer,
                std::uint64_t bits,
                const FillPattern& pattern,
                cudaStream_t stream) {
  fill_kernel<<<gpu::blocks_for(buffer.count), gpu::kThreads, 0, stream>>>(
      reinterpret_cast<Word*>(buffer.bytes()), buffer.count, static_cast<Word>(bits), pattern);
}

}  // namespace

void copy_on_gpu(std::span<const ByteCopy> copies, void* stream) {
  for (std::size_t done = 0; done < copies.size(); done += kMaxCopies) {
    const std::size_t size = std::min(kMaxCopies, copies.size() - done);
    launch_copies(copies.subspan(done, size), gpu::native(stream));
  }
}

void fill_on_gpu(const Buffer& buffer,
                 std::uint64_t bits,
                 const FillPattern& pattern,
                 void* stream) {
  LOCKSTEP_CHECK(pattern.stride > 0, "filling with a stride that is none");
  if (buffer.count <= 0 || buffer.bytes() == nullptr) return;
  switch (element_bytes(buffer.dtype)) {
    case 8:
      fill_words<std::uint64_t>(buffer, bits, pattern, gpu::native(stream));
      break;
    case 4:
      fill_words<std::uint32_t>(buffer, bits, pattern, gpu::native(stream));
      break;
    case 2:
      fill_words<std::uint16_t>(buffer, bits, pattern, gpu::native(stream));
      break;
    default:
      throw InternalError("no kernel fills elements of type " + std::string(name_of(buffer.dtype)));
  }
  check_cuda(cudaGetLastError(), "starting to fill a buffer on the GPU");
}

void copy_and_wait(std::byte* to, const std::byte* from, std::int64_t num_bytes, void* stream) {
  if (num_bytes <= 0) return;
  const std::string doing = "copying " + std::to_string(num_bytes) + " bytes";
  check_cuda(
      cudaMemcpyAsync(
          to, from, static_cast<std::size_t>(num_bytes), cudaMemcpyDefault, gpu::native(stream)),
      doing);
  check_cuda(cudaStreamSynchronize(gpu::native(stream)), doing);
}

}  // namespace lockstep::backends
