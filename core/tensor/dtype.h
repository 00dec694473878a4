// Element types and their sizes.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/config/case.h"

namespace lockstep {

enum class DType { kF64, kF32, kBF16, kI64 };

std::int64_t element_bytes(DType dtype);
DType dtype_of(Precision precision);
// In what computations on elements of a type are done, and what is summed over them is kept: f32
// for bf16, the type itself else.
DType accumulation_type(DType dtype);
std::string_view name_of(DType dtype);

}  // namespace lockstep
