// Matrix products by cuBLAS: the only kernels that see it.
//
// cuBLAS lays matrices out column by column, so that it sees each of ours transposed. It is asked
// for C^T = op(B)^T op(A)^T.
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "core/base/errors.h"
#include "core/ops/cuda/bodies.h"
#include "core/ops/cuda/kernels.h"
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

void check_blas(cublasStatus_t status, const std::string& doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw CudaError(doing + ": cuBLAS: " + cublasGetStatusString(status));
}

// Making one takes tens of milliseconds and some memory: only streams that multiply have one.
std::shared_ptr<void> make_handle(void* stream) {
  cublasHandle_t handle = nullptr;
  check_blas(cublasCreate(&handle), "making a handle");
  std::shared_ptr<void> kept(handle,
                             [](void* its) { cublasDestroy(static_cast<cublasHandle_t>(its)); });
  check_blas(cublasSetStream(handle, static_cast<cudaStream_t>(stream)), "binding a handle");
  // No f32 product goes through tf32, no bf16 one sums in bf16.
  const auto mode = static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                              CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
  check_blas(cublasSetMathMode(handle, mode), "setting a handle's arithmetic");
  return kept;
}

cublasHandle_t handle_of(const LaunchTarget& target) {
  std::shared_ptr<void>& handle = *target.products;
  if (handle == nullptr) handle = make_handle(target.native_stream);
  return static_cast<cublasHandle_t>(handle.get());
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
  const cublasStatus_t status = cublasGemmEx_64(handle_of(target),
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
  if (status != CUBLAS_STATUS_SUCCESS) check_blas(status, describe(args));
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

namespace lockstep {

std::string cublas_version() {
  std::string text;
  for (const libraryPropertyType part : {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL}) {
    int number = 0;
    cuda::check_blas(cublasGetProperty(part, &number), "its version");
    text += (text.empty() ? "" : ".") + std::to_string(number);
  }
  return text;
}

}  // namespace lockstep
