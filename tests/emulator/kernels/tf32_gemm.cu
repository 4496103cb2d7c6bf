// C = A B^T, float32 rounded to tf32 on the way into shared memory.
#include "mma_gemm.cuh"

extern "C" cudaError_t launch(const Args& a, cudaStream_t stream) {
  return mma_gemm::run<cute::SM80_16x8x8_F32TF32TF32F32_TN, mma_gemm::Once, float, cute::tfloat32_t, float>(a.A, a.B, a.C, a.M, a.N, a.K,
                                                                                                           stream);
}
