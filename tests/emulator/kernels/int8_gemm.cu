// C = A B^T, int8 in, int32 out.
#include "mma_gemm.cuh"

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  return mma_gemm::run<cute::SM80_16x8x32_S32S8S8S32_TN, mma_gemm::Once, int8_t, int8_t, int32_t>(a.A, a.B, a.C, a.M, a.N, a.K, stream);
}
