// Storage: one allocating and one freeing launch.
#include "core/tensor/storage.h"

#include "core/base/errors.h"
#include "core/tensor/device.h"

namespace lockstep {
namespace {

// All of it, rounded up to whole elements.
Buffer whole(Storage& storage) {
  const std::int64_t count = (storage.num_bytes() + 7) / 8;
  return {.storage = &storage, .dtype = DType::kI64, .offset = 0, .count = count};
}

}  // namespace

Storage::Storage(Device& device, std::int64_t num_bytes, std::string_view label, Stream stream)
    : device_(device), num_bytes_(num_bytes), label_(label), stream_(stream) {
  LOCKSTEP_CHECK(num_bytes >= 0, "cannot allocate a negative number of bytes");
  const Buffer all = whole(*this);
  device.launch(
      {.label = label, .kind = LaunchKind::kAllocate, .writes = {&all, 1}, .stream = stream});
}

Storage::~Storage() {
  const Buffer all = whole(*this);
  device_.launch(
      {.label = label_, .kind = LaunchKind::kFree, .writes = {&all, 1}, .stream = stream_});
}

}  // namespace lockstep
