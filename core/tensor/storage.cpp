// Storage: one allocating and one freeing launch.
#include "core/tensor/storage.h"

#include "core/base/errors.h"
#include "core/tensor/device.h"

namespace lockstep {

Storage::Storage(Device& device, std::int64_t num_bytes, std::string_view label)
    : device_(device), num_bytes_(num_bytes), label_(label) {
  LOCKSTEP_CHECK(num_bytes >= 0, "cannot allocate a negative number of bytes");
  const Buffer whole{.storage = this, .dtype = DType::kI64, .offset = 0, .count = num_bytes / 8};
  device.launch({.label = label, .kind = LaunchKind::kAllocate, .writes = {&whole, 1}});
}

Storage::~Storage() {
  const Buffer whole{.storage = this, .dtype = DType::kI64, .offset = 0, .count = num_bytes_ / 8};
  device_.launch({.label = label_, .kind = LaunchKind::kFree, .writes = {&whole, 1}});
}

}  // namespace lockstep
