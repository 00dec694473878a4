// Element types: size, name, and the one of a recipe.
#include "core/tensor/dtype.h"

#include "core/base/errors.h"

namespace lockstep {

std::int64_t element_bytes(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
      return 4;
    case DType::kBF16:
      return 2;
  }
  throw InternalError("unknown element type");
}

DType dtype_of(Precision precision) {
  switch (precision) {
    case Precision::kF64:
      return DType::kF64;
    case Precision::kF32:
      return DType::kF32;
    case Precision::kBF16:
      return DType::kBF16;
  }
  throw InternalError("unknown precision");
}

DType accumulation_type(DType dtype) { return dtype == DType::kBF16 ? DType::kF32 : dtype; }

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return "f64";
    case DType::kF32:
      return "f32";
    case DType::kBF16:
      return "bf16";
    case DType::kI64:
      return "i64";
  }
  throw InternalError("unknown element type");
}

}  // namespace lockstep
