// Element types and their sizes.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/config/case.h"

namespace lockstep {

enum class DType { kF64, kF32, kBF16, kI64 };

std::int64_t element_bytes(DType dtype);
DType dtype_of(Precision precision);
std::string_view name_of(DType dtype);

}  // namespace lockstep
