// Matrix products by cuBLAS: the only kernels that see it.
//
// cuBLAS lays matrices out column by column, so that it sees each of ours transposed. It is asked
// for C^T = op(B)^T op(A)^T.
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <string>

#include "core/base/errors.h"
#include "core/ops/cuda/bodies.h"
#include "core/tensor/cuda/gpu.h"

namespace lockstep::cuda {
namespace {

// The type of a product's elements, and in what it is computed.
struct ProductType {
  cudaDataType_t element;
  cublasComputeType_t compute;
};

// Pedantic f32 is f32 on every GPU, where the default may become a composition of lower types. The
// products of bf16 elements are exact in f32, in which they are summed.
ProductType product_type(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {.element = CUDA_R_64F, .compute = CUBLAS_COMPUTE_64F};
    case DType::kF32:
      return {.element = CUDA_R_32F, .compute = CUBLAS_COMPUTE_32F_PEDANTIC};
    case DType::kBF16:
      return {.element = CUDA_R_16BF, .compute = CUBLAS_COMPUTE_32F};
    case DType::kI64:
      break;
  }
  throw InternalError("no kernel multiplies elements of type " + std::string(name_of(dtype)));
}

std::string describe(const MatmulArgs& args) {
  const auto side = [](std::int64_t rows, std::int64_t columns, bool transposed) {
    return "[" + std::to_string(rows) + ", " + std::to_string(columns) + "]" +
           (transposed ? "^T" : "");
  };
  return "the product " +
         side(args.transpose_a ? args.k : args.m,
              args.transpose_a ? args.m : args.k,
              args.transpose_a) +
         " x " +
         side(args.transpose_b ? args.n : args.k,
              args.transpose_b ? args.k : args.n,
              args.transpose_b) +
         " of " + std::string(name_of(args.c.dtype));
}

// C = op(A) op(B), none of the sizes 0. C is not read.
template <typename Scalar>
void multiply(const LaunchTarget& target, const MatmulArgs& args, const ProductType& type) {
  const Scalar one{1};
  const Scalar zero{0};
  const cublasStatus_t status = cublasGemmEx_64(static_cast<cublasHandle_t>(target.native_blas),
                                                args.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                                                args.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N,
                                                args.n,
                                                args.m,
                                                args.k,
                                                &one,
                                                args.b.bytes(),
                                                type.element,
                                                args.transpose_b ? args.k : args.n,
                                                args.a.bytes(),
                                                type.element,
                                                args.transpose_a ? args.m : args.k,
                                                &zero,
                                                args.c.bytes(),
                                                type.element,
                                                args.n,
                                                type.compute,
                                                CUBLAS_GEMM_DEFAULT);
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw CudaError(describe(args) + ": cuBLAS: " + cublasGetStatusString(status));
}

}  // namespace

void matmul(const LaunchTarget& target, const MatmulArgs& args) {
  const ProductType type = product_type(args.c.dtype);
  if (args.m == 0 || args.n == 0) return;
  if (args.k == 0) {  // sums of nothing
    check_cuda(cudaMemsetAsync(args.c.bytes(),
                               0,
                               static_cast<std::size_t>(args.c.num_bytes()),
                               static_cast<cudaStream_t>(target.native_stream)),
               describe(args));
  } else if (type.element == CUDA_R_64F) {
    multiply<double>(target, args, type);
  } else {
    multiply<float>(target, args, type);
  }
}

}  // namespace lockstep::cuda
