// Element types: size and name.
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
